//! The C functions. `include/heddle.h` is generated from this file.
//!
//! They check pointers, contain panics and turn errors into codes; all work is done in `host.rs`.
//! Every function may be called from any thread; calls on one handle wait for each other.

use std::cell::RefCell;
use std::ffi::c_char;
use std::slice;

use crate::constant::{ABI_VERSION, OK};
use crate::error::{BridgeError, FrameFault};
use crate::host::{self, ENGINES};
use crate::panics;

thread_local! {
    /// Text of the last error on this thread.
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The version of the frame layout and of these functions. A caller that was built for another one
/// must not go on.
#[unsafe(no_mangle)]
pub extern "C" fn heddle_abi_version() -> u32 {
    ABI_VERSION
}

/// The version of this library: a static text that ends with NUL.
#[unsafe(no_mangle)]
pub extern "C" fn heddle_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Opens an engine from its setup in JSON (UTF-8, `len` bytes) and stores its handle.
///
/// Returns HEDDLE_OK, HEDDLE_BAD_CONFIG or HEDDLE_PANIC. On an error `*handle_out` is 0, which is
/// never a handle.
///
/// # Safety
/// `setup_json` must point to `len` readable bytes (or `len` be 0) and `handle_out` to a writable
/// `uint64_t` or be NULL, which is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_open(
    setup_json: *const u8,
    len: usize,
    handle_out: *mut u64,
) -> i32 {
    let code = entry(|| {
        if handle_out.is_null() {
            return Err(BridgeError::BadConfig("handle_out is NULL".to_owned()));
        }
        // SAFETY: the caller vouches for a writable u64, and it is not null.
        unsafe { handle_out.write_unaligned(0) };
        // SAFETY: the caller vouches for `len` readable bytes.
        let setup = unsafe { bytes(setup_json, len) }.map_err(BridgeError::BadConfig)?;
        let handle = host::open(text(setup).map_err(BridgeError::BadConfig)?)?;
        // SAFETY: as above.
        unsafe { handle_out.write_unaligned(handle) };
        Ok(OK.into())
    });
    // `entry` gives OK or one of the codes, which are all i32.
    code as i32
}

/// Applies one input frame and writes the output frame that answers it.
///
/// Returns the length of the output frame, or a negative code. After HEDDLE_BAD_HANDLE,
/// HEDDLE_BAD_FRAME, HEDDLE_BAD_VERSION and HEDDLE_SHORT_BUFFER nothing was applied; after
/// HEDDLE_PANIC every further call gives HEDDLE_ENGINE_FAILED and only closing is left. An output
/// buffer of `48 + 88 * decisions_max + 65536` bytes is never too short, and a smaller one is
/// always refused. The buffers must not overlap and may have any alignment.
///
/// # Safety
/// `input` must point to `input_len` readable bytes and `out` to `out_cap` writable ones; either
/// may be NULL, which is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_step(
    h: u64,
    input: *const u8,
    input_len: usize,
    out: *mut u8,
    out_cap: usize,
) -> i64 {
    entry(|| {
        if overlap(input, input_len, out, out_cap) {
            return Err(bad_frame(
                "buffers that do not overlap",
                "overlapping ones".to_owned(),
            ));
        }
        // SAFETY: the caller vouches for `input_len` readable bytes.
        let frame = unsafe { bytes(input, input_len) }.map_err(|got| bad_frame("a frame", got))?;
        // SAFETY: the caller vouches for `out_cap` writable bytes, which do not overlap the frame.
        let out = unsafe { bytes_mut(out, out_cap) };
        let length = ENGINES.with(h, |host| host.step(frame, out))??;
        Ok(length as i64)
    })
}

/// Serves a request in JSON (UTF-8, `len` bytes) and writes the reply, JSON as well.
///
/// Returns the length of the reply, or a negative code. HEDDLE_SHORT_BUFFER means that the request
/// was served but its reply did not fit: the needed size is in the first 8 bytes of `out` if it has
/// 8. The same request, made next with enough room, gets the kept reply and is not served again.
/// After HEDDLE_BAD_REQUEST nothing has changed.
///
/// # Safety
/// `json` must point to `len` readable bytes and `out` to `out_cap` writable ones; either may be
/// NULL, which is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_request(
    h: u64,
    now_ms: i64,
    json: *const u8,
    len: usize,
    out: *mut u8,
    out_cap: usize,
) -> i64 {
    entry(|| {
        if overlap(json, len, out, out_cap) {
            return Err(BridgeError::BadRequest("the buffers overlap".to_owned()));
        }
        // SAFETY: the caller vouches for `len` readable bytes.
        let json = unsafe { bytes(json, len) }.map_err(BridgeError::BadRequest)?;
        let json = text(json).map_err(BridgeError::BadRequest)?;
        // SAFETY: the caller vouches for `out_cap` writable bytes, which do not overlap the JSON.
        let out = unsafe { bytes_mut(out, out_cap) };
        let length = ENGINES.with(h, |host| host.request_into(now_ms, json, out))??;
        Ok(length as i64)
    })
}

/// Closes an engine, after the call that may be running with it. Its handle is void from then on.
///
/// Returns HEDDLE_OK or HEDDLE_BAD_HANDLE; an engine that failed closes like any other.
#[unsafe(no_mangle)]
pub extern "C" fn heddle_close(h: u64) -> i32 {
    // As in heddle_open.
    entry(|| host::close(h).map(|()| OK.into())) as i32
}

/// Copies the text of the last error on this thread, in UTF-8, cut at `cap` and ended with NUL.
///
/// Returns the length of the whole text, the NUL not counted, so that `cap` of one more than that
/// is enough; 0 when there was no error yet.
///
/// # Safety
/// `out` must point to `cap` writable bytes, or be NULL, or `cap` be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn heddle_last_error(out: *mut u8, cap: usize) -> usize {
    let copy = || {
        LAST_ERROR.with_borrow(|error| {
            // SAFETY: the caller vouches for `cap` writable bytes.
            let out = unsafe { bytes_mut(out, cap) };
            if let Some(text_max) = out.len().checked_sub(1) {
                let mut end = error.len().min(text_max);
                while !error.is_char_boundary(end) {
                    end -= 1;
                }
                out[..end].copy_from_slice(&error.as_bytes()[..end]);
                out[end] = 0;
            }
            error.len()
        })
    };
    panics::catch(copy).unwrap_or(0)
}

/// Runs an entry. Turns panics and errors into codes, and keeps their text for this thread.
fn entry(call: impl FnOnce() -> Result<i64, BridgeError>) -> i64 {
    let result = panics::catch(call).unwrap_or_else(|text| Err(BridgeError::Panic(text)));
    result.unwrap_or_else(|error| {
        let code = error.code();
        LAST_ERROR.set(error.to_string());
        code.into()
    })
}

/// Returns `len` bytes at `start`. Zero bytes need no pointer.
///
/// # Safety
/// `start` must be null or point to `len` bytes that are not written during `'a`.
unsafe fn bytes<'a>(start: *const u8, len: usize) -> Result<&'a [u8], String> {
    if len == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(format!("NULL with a length of {len}"));
    }
    if len > isize::MAX as usize {
        return Err(format!("a length of {len}"));
    }
    // SAFETY: not null, of a length that a slice may have, and the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(start, len) })
}

/// Returns `cap` writable bytes at `start`; none if it is null or `cap` exceeds the memory.
///
/// # Safety
/// `start` must be null or point to `cap` bytes that are used nowhere else during `'a`.
unsafe fn bytes_mut<'a>(start: *mut u8, cap: usize) -> &'a mut [u8] {
    if start.is_null() || cap == 0 || cap > isize::MAX as usize {
        return &mut [];
    }
    // SAFETY: not null, of a length that a slice may have, and the caller vouches for the rest.
    unsafe { slice::from_raw_parts_mut(start, cap) }
}

/// Whether two ranges share a byte: a shared and a unique reference must not overlap.
fn overlap(a: *const u8, a_len: usize, b: *const u8, b_len: usize) -> bool {
    let (a, b) = (a as usize, b as usize);
    a_len > 0 && b_len > 0 && a < b.saturating_add(b_len) && b < a.saturating_add(a_len)
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| format!("expected UTF-8: {error}"))
}

fn bad_frame(expected: &str, got: String) -> BridgeError {
    FrameFault {
        offset: 0,
        record: "FRAME",
        subject: None,
        expected: expected.to_owned(),
        got,
    }
    .into()
}
