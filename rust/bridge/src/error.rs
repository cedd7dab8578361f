//! Errors of the boundary: a code for the program and a text for the person.
//!
//! This file neither throws nor returns them: `c_abi.rs` turns an error into a negative number,
//! `jni_abi.rs` into an exception.

use std::fmt;

use heddle_core::engine::Subject;

use crate::constant::*;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BridgeError {
    /// The handle was never given out, or its engine is closed.
    BadHandle(u64),
    /// The input frame is malformed.
    BadFrame(FrameFault),
    /// The frame was written for another version of the layout.
    BadVersion {
        /// The version in the frame.
        got: u32,
    },
    /// The output buffer is too small.
    ShortBuffer {
        /// Bytes that are enough.
        needed: usize,
        /// Bytes of the buffer.
        got: usize,
    },
    /// The setup cannot be used; the text says where and why.
    BadConfig(String),
    /// The request cannot be served; the text says why.
    BadRequest(String),
    /// An earlier call panicked; the text is that of the panic.
    EngineFailed(String),
    /// This call panicked; the text says where and with what.
    Panic(String),
}

/// Where a frame is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameFault {
    /// Offset in bytes of the wrong field or record.
    pub offset: usize,
    /// The record's name, as in `ASK`; or the header.
    pub record: &'static str,
    /// The job or node that the record is about, if it is about one.
    pub subject: Option<Subject>,
    /// What was expected there.
    pub expected: String,
    /// What was found.
    pub got: String,
}

impl BridgeError {
    /// The number of this error in C and Java.
    pub fn code(&self) -> i32 {
        match self {
            BridgeError::BadHandle(_) => BAD_HANDLE,
            BridgeError::BadFrame(_) => BAD_FRAME,
            BridgeError::BadVersion { .. } => BAD_VERSION,
            BridgeError::ShortBuffer { .. } => SHORT_BUFFER,
            BridgeError::BadConfig(_) => BAD_CONFIG,
            BridgeError::BadRequest(_) => BAD_REQUEST,
            BridgeError::EngineFailed(_) => ENGINE_FAILED,
            BridgeError::Panic(_) => PANIC,
        }
    }
}

impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BridgeError::BadHandle(handle) => {
                write!(
                    f,
                    "engine handle {handle:#x} is unknown, or its engine is closed"
                )
            }
            BridgeError::BadFrame(fault) => write!(f, "bad frame: {fault}; nothing was applied"),
            BridgeError::BadVersion { got } => write!(
                f,
                "the frame has ABI version {got}, this library ({}) has {ABI_VERSION}: \
                 use the jar and the library of one release",
                env!("CARGO_PKG_VERSION")
            ),
            BridgeError::ShortBuffer { needed, got } => write!(
                f,
                "the output buffer has {got} bytes; call again with {needed}"
            ),
            BridgeError::BadConfig(text) | BridgeError::BadRequest(text) => f.write_str(text),
            BridgeError::EngineFailed(text) => write!(
                f,
                "the engine failed earlier and decides nothing now; close it and open another. \
                 It failed with: {text}"
            ),
            BridgeError::Panic(text) => write!(f, "the engine panicked: {text}"),
        }
    }
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FrameFault {
            offset,
            record,
            subject,
            expected,
            got,
        } = self;
        write!(f, "offset {offset}, record {record}")?;
        if let Some(subject) = subject {
            write!(f, " of {subject}")?;
        }
        write!(f, ": expected {expected}, found {got}")
    }
}

impl std::error::Error for BridgeError {}

impl From<FrameFault> for BridgeError {
    fn from(fault: FrameFault) -> BridgeError {
        BridgeError::BadFrame(fault)
    }
}
