//! The natives of `io.heddle.yarn.engine.Native`: the C functions for Java.
//!
//! They unpack buffers and strings and turn errors into `HeddleException`; all work is done in
//! `host.rs`. Nothing here calls into Java except to throw, and no reference outlives its call. The
//! JVM finds the natives by their exported names. Tests register [`NATIVE_METHODS`] to see that the
//! Java declarations have not drifted.

use std::any::Any;
use std::slice;

use heddle_host::{Amount, Report};
use jni::errors::{Error, ErrorPolicy};
use jni::objects::{JByteArray, JByteBuffer, JClass, JString, JThrowable, JValue};
use jni::strings::{JNIStr, JNIString};
use jni::sys::{jfloat, jint, jlong};
use jni::{Env, NativeMethod, jni_sig, jni_str, native_method};

use crate::constant::ABI_VERSION;
use crate::error::{BridgeError, FrameFault};
use crate::host::{self, ENGINES};
use crate::panics;
use crate::services::{self, EngineHandle};

/// The class that declares the natives.
pub const CLASS: &JNIStr = jni_str!("io.heddle.yarn.engine.Native");
const EXCEPTION: &JNIStr = jni_str!("io.heddle.yarn.engine.HeddleException");

/// Every native of [`CLASS`].
pub const NATIVE_METHODS: &[NativeMethod] = &[
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn abi_version() -> jint
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn version() -> JString
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn open(setup_json: JString) -> jlong
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn step(
            handle: jlong, input: JByteBuffer, input_length: jint, output: JByteBuffer) -> jint
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn request(handle: jlong, now_ms: jlong, json: JString) -> JString
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn close(handle: jlong)
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn open_service(settings_json: JString) -> jlong
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn activate_service(service: jlong, owner: JString, now_ms: jlong)
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn pump_service(
            service: jlong, engine: jlong, engine_ms: jlong, now_ms: jlong) -> JString
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn serve(
            service: jlong, engine: jlong, engine_ms: jlong, now_ms: jlong, head: JString,
            body: jbyte[]) -> jbyte[]
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn submit(
            service: jlong, engine_ms: jlong, now_ms: jlong, submitted: JString) -> JString
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn reply(path: JString, text: jbyte[]) -> JString
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn ask(question: JString) -> jbyte[]
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn foreign_load(
            told: jint, node_mb: jlong, node_processors: jfloat, containers_mb: jlong,
            containers_vcores: jfloat, machine_mb: jlong, machine_processors: jint,
            capacity_mb: jlong, capacity_vcores: jint) -> jint
    },
    native_method! {
        java_type = "io.heddle.yarn.engine.Native", error_policy = Throw,
        static extern fn close_service(service: jlong, now_ms: jlong) -> JString
    },
];

type Result<T> = std::result::Result<T, NativeError>;

fn abi_version<'l>(_: &mut Env<'l>, _: JClass<'l>) -> Result<jint> {
    Ok(ABI_VERSION as jint)
}

fn version<'l>(env: &mut Env<'l>, _: JClass<'l>) -> Result<JString<'l>> {
    Ok(JString::from_str(env, env!("CARGO_PKG_VERSION"))?)
}

fn open<'l>(env: &mut Env<'l>, _: JClass<'l>, setup_json: JString<'l>) -> Result<jlong> {
    let setup = text(env, &setup_json, BridgeError::BadConfig)?;
    Ok(host::open(&setup)? as jlong)
}

fn step<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    handle: jlong,
    input: JByteBuffer<'l>,
    input_length: jint,
    output: JByteBuffer<'l>,
) -> Result<jint> {
    let (input, input_capacity) = buffer(env, &input, "the input buffer")?;
    let (output, output_capacity) = buffer(env, &output, "the output buffer")?;
    let length = usize::try_from(input_length)
        .ok()
        .filter(|&length| length <= input_capacity);
    let Some(length) = length else {
        let expected = format!("a length from 0 to the buffer's {input_capacity}");
        return Err(bad_frame(expected, input_length.to_string()).into());
    };
    let (start, end) = (input as usize, input as usize + length);
    if start < output as usize + output_capacity && (output as usize) < end {
        return Err(bad_frame("two buffers".to_owned(), "overlapping ones".to_owned()).into());
    }
    // SAFETY: the address is that of a direct buffer of at least `length` bytes, which the local
    // reference keeps alive during this call. The only caller, the shim, holds its engine's lock,
    // so no other thread writes to it.
    let frame = unsafe { slice::from_raw_parts(input, length) };
    // SAFETY: as above, and the two buffers do not overlap.
    let out = unsafe { slice::from_raw_parts_mut(output, output_capacity) };
    // The length fits: a buffer's capacity is at most jint's maximum.
    Ok(ENGINES.with(handle as u64, |host| host.step(frame, out))?? as jint)
}

fn request<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    handle: jlong,
    now_ms: jlong,
    json: JString<'l>,
) -> Result<JString<'l>> {
    let json = text(env, &json, BridgeError::BadRequest)?;
    let reply = ENGINES.with(handle as u64, |host| host.request(now_ms, &json))??;
    Ok(JString::from_str(env, reply)?)
}

fn close<'l>(_: &mut Env<'l>, _: JClass<'l>, handle: jlong) -> Result<()> {
    Ok(host::close(handle as u64)?)
}

fn open_service<'l>(env: &mut Env<'l>, _: JClass<'l>, settings_json: JString<'l>) -> Result<jlong> {
    let settings = text(env, &settings_json, BridgeError::BadConfig)?;
    Ok(services::open(&settings)? as jlong)
}

fn activate_service<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    service: jlong,
    owner: JString<'l>,
    now_ms: jlong,
) -> Result<()> {
    let owner = text(env, &owner, BridgeError::BadRequest)?;
    Ok(services::activate(service as u64, &owner, now_ms)?)
}

fn pump_service<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    service: jlong,
    engine: jlong,
    engine_ms: jlong,
    now_ms: jlong,
) -> Result<JString<'l>> {
    let engine = engine_at(engine, engine_ms);
    let state = services::pump(service as u64, engine, now_ms)?;
    Ok(JString::from_str(env, state)?)
}

// One parameter per parameter of the Java declaration.
#[allow(clippy::too_many_arguments)]
fn serve<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    service: jlong,
    engine: jlong,
    engine_ms: jlong,
    now_ms: jlong,
    head: JString<'l>,
    body: JByteArray<'l>,
) -> Result<JByteArray<'l>> {
    let head = text(env, &head, BridgeError::BadRequest)?;
    let body = match body.is_null() {
        true => Vec::new(),
        false => env.convert_byte_array(&body)?,
    };
    let engine = engine_at(engine, engine_ms);
    let answer = services::serve(service as u64, engine, &head, &body, now_ms)?;
    Ok(env.byte_array_from_slice(&answer)?)
}

fn submit<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    service: jlong,
    engine_ms: jlong,
    now_ms: jlong,
    submitted: JString<'l>,
) -> Result<JString<'l>> {
    let submitted = text(env, &submitted, BridgeError::BadRequest)?;
    let answer = services::submit(service as u64, &submitted, now_ms, engine_ms)?;
    Ok(JString::from_str(env, answer)?)
}

fn reply<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    path: JString<'l>,
    answer: JByteArray<'l>,
) -> Result<JString<'l>> {
    let path = text(env, &path, BridgeError::BadRequest)?;
    let answer = env.convert_byte_array(&answer)?;
    let read = heddle_host::reply(&path, &answer).map_err(BridgeError::BadRequest)?;
    Ok(JString::from_str(env, read.to_string())?)
}

fn ask<'l>(env: &mut Env<'l>, _: JClass<'l>, question: JString<'l>) -> Result<JByteArray<'l>> {
    let question = text(env, &question, BridgeError::BadRequest)?;
    let answer = heddle_host::ask(&question).map_err(BridgeError::BadRequest)?;
    Ok(env.byte_array_from_slice(&services::answered(answer))?)
}

// One parameter per number, not JSON: every heartbeat of a node calls this.
#[allow(clippy::too_many_arguments)]
fn foreign_load<'l>(
    _: &mut Env<'l>,
    _: JClass<'l>,
    told: jint,
    node_mb: jlong,
    node_processors: jfloat,
    containers_mb: jlong,
    containers_vcores: jfloat,
    machine_mb: jlong,
    machine_processors: jint,
    capacity_mb: jlong,
    capacity_vcores: jint,
) -> Result<jint> {
    let amount = |memory: jlong, cpu: f64| Amount { memory, cpu };
    let report = Report {
        node: amount(node_mb, node_processors.into()),
        containers: amount(containers_mb, containers_vcores.into()),
        machine: amount(machine_mb, machine_processors.into()),
        capacity: amount(capacity_mb, capacity_vcores.into()),
    };
    // For Java a negative number means none.
    let load = heddle_host::foreign_load(&report, u32::try_from(told).ok());
    Ok(load.map_or(-1, |load| load as jint))
}

fn close_service<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    service: jlong,
    now_ms: jlong,
) -> Result<JString<'l>> {
    let state = services::close(service as u64, now_ms)?;
    Ok(JString::from_str(env, state)?)
}

fn engine_at(handle: jlong, now_ms: jlong) -> EngineHandle {
    let handle = handle as u64;
    EngineHandle { handle, now_ms }
}

/// Reads a Java string; `refuse` makes the error for null.
fn text(env: &Env<'_>, string: &JString<'_>, refuse: fn(String) -> BridgeError) -> Result<String> {
    if string.is_null() {
        return Err(refuse("expected a text, found null".to_owned()).into());
    }
    Ok(string.try_to_string(env)?)
}

/// Returns address and capacity of a direct buffer.
fn buffer(env: &Env<'_>, buffer: &JByteBuffer<'_>, name: &str) -> Result<(*mut u8, usize)> {
    if buffer.is_null() {
        return Err(bad_frame(name.to_owned(), "null".to_owned()).into());
    }
    let address = env.get_direct_buffer_address(buffer);
    let capacity = env.get_direct_buffer_capacity(buffer);
    match (address, capacity) {
        (Ok(address), Ok(capacity)) => Ok((address, capacity)),
        _ => {
            let expected = format!("{name} to be direct");
            Err(bad_frame(expected, "one on the heap".to_owned()).into())
        }
    }
}

fn bad_frame(expected: String, got: String) -> BridgeError {
    FrameFault {
        offset: 0,
        record: "FRAME",
        subject: None,
        expected,
        got,
    }
    .into()
}

/// Errors of a native: this crate's own, or JNI's.
enum NativeError {
    Bridge(BridgeError),
    Jni(Error),
}

impl From<BridgeError> for NativeError {
    fn from(error: BridgeError) -> NativeError {
        NativeError::Bridge(error)
    }
}

impl From<Error> for NativeError {
    fn from(error: Error) -> NativeError {
        NativeError::Jni(error)
    }
}

/// Throws `HeddleException` for errors and panics.
enum Throw {}

impl<T: Default> ErrorPolicy<T, NativeError> for Throw {
    type Captures<'u: 'n, 'n> = ();

    fn on_error<'u: 'n, 'n>(
        env: &mut Env<'u>,
        _: &mut (),
        error: NativeError,
    ) -> jni::errors::Result<T> {
        let error = match error {
            NativeError::Bridge(error) => error,
            // Java threw while a string was built: out of memory, for example. Let it through.
            NativeError::Jni(Error::JavaException) => return Ok(T::default()),
            NativeError::Jni(error) => BridgeError::Panic(format!("JNI: {error}")),
        };
        throw(env, &error);
        Ok(T::default())
    }

    fn on_panic<'u: 'n, 'n>(
        env: &mut Env<'u>,
        _: &mut (),
        payload: Box<dyn Any + Send + 'static>,
    ) -> jni::errors::Result<T> {
        throw(env, &BridgeError::Panic(panics::text(&*payload).to_owned()));
        Ok(T::default())
    }
}

/// Throws a `HeddleException`. If that class cannot be found, throws an `IllegalStateException`
/// with the same text. If that fails as well, the JVM's own exception is pending and says why.
#[cold]
fn throw(env: &mut Env<'_>, error: &BridgeError) {
    if env.exception_check() {
        return;
    }
    let (code, text) = (error.code(), error.to_string());
    let thrown = heddle_exception(env, code, &text).and_then(|exception| env.throw(&exception));
    // `throw` returns JavaException when it has thrown.
    if matches!(thrown, Err(Error::JavaException)) && env.exception_check() {
        return;
    }
    env.exception_clear();
    let text = JNIString::from(format!(
        "code {code}: {text} (HeddleException cannot be made)"
    ));
    let _ = env.throw_new(jni_str!("java/lang/IllegalStateException"), text);
}

fn heddle_exception<'l>(
    env: &mut Env<'l>,
    code: i32,
    text: &str,
) -> jni::errors::Result<JThrowable<'l>> {
    let class = env.load_class(EXCEPTION)?;
    let text = JString::from_str(env, text)?;
    let signature = jni_sig!((code: jint, message: JString) -> void);
    let arguments = [JValue::Int(code), JValue::Object(&text)];
    let exception = env.new_object(class, signature, &arguments)?;
    env.cast_local::<JThrowable>(exception)
}
