//! Tests the JNI natives in a real JVM under `-Xcheck:jni`, called like the shim calls them.
//!
//! Compiles the shim's own `Native.java` and `HeddleException.java` and registers the natives of
//! this test binary on them. That fails if a Java declaration has drifted. A process can have only
//! one JVM, and `-Xcheck:jni` reports to its output. So each test starts this binary again for its
//! own JVM and reads that output.

// A failed unwrap in a helper fails its test, as it should.
#![allow(clippy::unwrap_used)]

mod client;

use std::path::{Path, PathBuf};
use std::process::Command;

use client::{Answer, FrameWriter};
use heddle::constant::*;
use heddle::frame::output_bytes_max;
use heddle::jni_abi::{CLASS, NATIVE_METHODS};
use heddle_core::words::event::Event;
use jni::objects::{JByteBuffer, JClass, JObject, JString, JThrowable, JValue, JValueOwned};
use jni::signature::RuntimeMethodSignature;
use jni::strings::JNIString;
use jni::sys::jint;
use jni::{Env, InitArgsBuilder, JNIVersion, JavaVM, jni_sig, jni_str};

/// Environment variables that tell the child process its test and the place of the classes.
const CHILD: &str = "HEDDLE_TEST_JVM";
const CLASSES: &str = "HEDDLE_TEST_CLASSES";

#[test]
fn natives_work_in_a_jvm() {
    let classes = compile("all", &["FrameLayout", "Native", "HeddleException"]);
    run_in_jvm("natives", &classes);
}

#[test]
fn a_missing_exception_class_still_gives_an_exception() {
    let classes = compile(
        "no-exception",
        &["FrameLayout", "Native", "HeddleException"],
    );
    std::fs::remove_file(classes.join("io/heddle/yarn/engine/HeddleException.class"))
        .expect("javac has written it");
    run_in_jvm("no-exception", &classes);
}

/// Java would find a missing native only at its first call.
#[test]
fn rust_has_every_native_that_java_declares() {
    let source = std::fs::read_to_string(java_source("Native")).expect("Native.java is there");
    let declared = source
        .lines()
        .filter(|line| line.contains("static native "))
        .count();
    assert_eq!(declared, NATIVE_METHODS.len());
}

/// The part that runs in the process with the JVM. The tests above start it.
#[test]
fn inside_the_jvm() {
    let Ok(which) = std::env::var(CHILD) else {
        return;
    };
    let classes = std::env::var(CLASSES).expect("set together with the other");
    let arguments = InitArgsBuilder::new()
        .version(JNIVersion::V1_8)
        .option("-Xcheck:jni")
        .option("-Xmx64m")
        .option(format!("-Djava.class.path={classes}"))
        .build()
        .expect("the options are text without NUL");
    let vm = JavaVM::new(arguments).expect("a JDK is installed, so is its libjvm.so");
    vm.attach_current_thread(|env| -> jni::errors::Result<()> {
        let class = env.load_class(CLASS)?;
        // SAFETY: the functions live as long as this process, and native_method! has checked each
        // against its signature.
        unsafe { env.register_native_methods(&class, NATIVE_METHODS)? };
        match which.as_str() {
            "natives" => every_native(env, &class),
            "no-exception" => without_exception_class(env, &class),
            other => panic!("no test of the name {other}"),
        }
        Ok(())
    })
    .expect("nothing was thrown that the tests did not catch");
    println!("JVM TEST DONE");
}

fn java_source(class: &str) -> PathBuf {
    let java = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../java/src/main/java");
    java.join(format!("io/heddle/yarn/engine/{class}.java"))
}

/// Compiles classes of the shim into this test's own directory.
fn compile(name: &str, classes: &[&str]) -> PathBuf {
    let directory = format!("jvm-{name}-{}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(directory);
    std::fs::create_dir_all(&directory).expect("the target directory is writable");
    let output = Command::new("javac")
        .args(["--release", "8", "-Xlint:-options", "-d"])
        .arg(&directory)
        .args(classes.iter().map(|class| java_source(class)))
        .output()
        .expect("javac is on the PATH: install a JDK (Debian: openjdk-17-jdk-headless)");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "javac: {text}");
    directory
}

/// Runs `inside_the_jvm` in its own process and checks the output of the test and the JVM.
fn run_in_jvm(which: &str, classes: &Path) {
    let binary = std::env::current_exe().expect("a running test has a path");
    let output = Command::new(binary)
        .args([
            "--exact",
            "inside_the_jvm",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, which)
        .env(CLASSES, classes)
        .output()
        .expect("this binary can be started");
    std::fs::remove_dir_all(classes).expect("the classes are ours");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        output.status.success() && text.contains("JVM TEST DONE"),
        "{text}"
    );
    for sign in ["WARNING", "FATAL ERROR"] {
        assert!(
            !text.contains(sign),
            "-Xcheck:jni has found something:\n{text}"
        );
    }
}

/// An exception from a native.
#[derive(Debug)]
struct Thrown {
    class: String,
    /// Present only for a HeddleException.
    code: Option<i32>,
    message: String,
}

type Call<T> = Result<T, Thrown>;

fn call<'l>(
    env: &mut Env<'l>,
    class: &JClass<'_>,
    name: &str,
    signature: &str,
    arguments: &[JValue<'_>],
) -> Call<JValueOwned<'l>> {
    let signature: RuntimeMethodSignature = signature.parse().expect("a signature of JNI");
    let called = env.call_static_method(
        class,
        JNIString::from(name),
        signature.method_signature(),
        arguments,
    );
    called.map_err(|error| {
        let exception = env
            .exception_occurred()
            .unwrap_or_else(|| panic!("{name}: {error}"));
        env.exception_clear();
        thrown(env, &exception)
    })
}

fn thrown(env: &mut Env<'_>, exception: &JThrowable<'_>) -> Thrown {
    let class = env
        .get_object_class(exception)
        .expect("an object has a class");
    let name = env.call_method(&class, jni_str!("getName"), jni_sig!(() -> JString), &[]);
    let name = name.and_then(JValueOwned::l).expect("a class has a name");
    let class = text(env, name);
    let message = env.call_method(
        exception,
        jni_str!("getMessage"),
        jni_sig!(() -> JString),
        &[],
    );
    let message = message
        .and_then(JValueOwned::l)
        .expect("ours have a message");
    let message = text(env, message);
    let code = (class == "io.heddle.yarn.engine.HeddleException").then(|| {
        let code = env.call_method(exception, jni_str!("code"), jni_sig!(() -> jint), &[]);
        code.and_then(JValueOwned::i)
            .expect("HeddleException has a code")
    });
    Thrown {
        class,
        code,
        message,
    }
}

fn text(env: &mut Env<'_>, string: JObject<'_>) -> String {
    let string = env
        .cast_local::<JString>(string)
        .expect("the method returns a string");
    string.try_to_string(env).expect("it is not null")
}

fn open(env: &mut Env<'_>, class: &JClass<'_>, setup: &str) -> Call<i64> {
    let setup = JString::from_str(env, setup).expect("the JVM has memory");
    let handle = call(
        env,
        class,
        "open",
        "(Ljava/lang/String;)J",
        &[JValue::Object(&setup)],
    )?;
    Ok(handle.j().expect("open returns a long"))
}

fn step(
    env: &mut Env<'_>,
    class: &JClass<'_>,
    handle: i64,
    input: &JObject<'_>,
    length: jint,
    output: &JObject<'_>,
) -> Call<jint> {
    let arguments = [
        JValue::Long(handle),
        JValue::Object(input),
        JValue::Int(length),
        JValue::Object(output),
    ];
    let signature = "(JLjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;)I";
    Ok(call(env, class, "step", signature, &arguments)?
        .i()
        .expect("step returns an int"))
}

fn request(env: &mut Env<'_>, class: &JClass<'_>, handle: i64, json: &str) -> Call<String> {
    let json = JString::from_str(env, json).expect("the JVM has memory");
    let arguments = [JValue::Long(handle), JValue::Long(7), JValue::Object(&json)];
    let signature = "(JJLjava/lang/String;)Ljava/lang/String;";
    let reply = call(env, class, "request", signature, &arguments)?;
    let reply = reply.l().expect("request returns a string");
    Ok(text(env, reply))
}

fn close(env: &mut Env<'_>, class: &JClass<'_>, handle: i64) -> Call<()> {
    call(env, class, "close", "(J)V", &[JValue::Long(handle)]).map(|_| ())
}

fn direct<'l>(env: &mut Env<'l>, bytes: &mut [u8]) -> JByteBuffer<'l> {
    // SAFETY: every caller keeps `bytes` alive and unmoved until it is done with the buffer.
    unsafe { env.new_direct_byte_buffer(bytes.as_mut_ptr(), bytes.len()) }
        .expect("HotSpot has direct buffers")
}

fn assert_thrown<T>(result: Call<T>, code: i32, part: &str) {
    let Err(thrown) = result else {
        panic!("nothing was thrown, expected code {code}")
    };
    assert_eq!(thrown.code, Some(code), "{thrown:?}");
    assert!(
        thrown.message.contains(part),
        "{part:?} is not in {thrown:?}"
    );
}

fn every_native(env: &mut Env<'_>, class: &JClass<'_>) {
    for part in [versions, setups, steps, buffers, requests, panics] {
        // The frame frees the local references of a part; -Xcheck:jni counts them.
        env.with_local_frame(256, |env| -> jni::errors::Result<()> {
            part(env, class);
            Ok(())
        })
        .expect("the JVM has memory");
    }
}

fn versions(env: &mut Env<'_>, class: &JClass<'_>) {
    let abi = call(env, class, "abiVersion", "()I", &[]).map(|abi| abi.i());
    assert_eq!(abi.unwrap().unwrap(), ABI_VERSION as jint);
    let version = call(env, class, "version", "()Ljava/lang/String;", &[])
        .unwrap()
        .l()
        .unwrap();
    assert_eq!(text(env, version), env!("CARGO_PKG_VERSION"));
}

fn setups(env: &mut Env<'_>, class: &JClass<'_>) {
    assert_thrown(
        open(env, class, "{\"config\":{\"polcy\":1}}"),
        BAD_CONFIG,
        "policy",
    );
    assert_thrown(open(env, class, "no JSON"), BAD_CONFIG, "line 1");
    let null = JObject::null();
    let opened = call(
        env,
        class,
        "open",
        "(Ljava/lang/String;)J",
        &[JValue::Object(&null)],
    );
    assert_thrown(opened, BAD_CONFIG, "null");
    let handle = open(env, class, "{}").unwrap();
    assert!(handle > 0, "{handle}");
    close(env, class, handle).unwrap();
    assert_thrown(close(env, class, handle), BAD_HANDLE, "closed");
    assert_thrown(
        request(env, class, -1, "{}"),
        BAD_HANDLE,
        "0xffffffffffffffff",
    );
}

/// The reused output buffer must hold each answer from its start.
fn steps(env: &mut Env<'_>, class: &JClass<'_>) {
    let handle = open(env, class, "{}").unwrap();
    let mut out = vec![0; output_bytes_max(16)];
    let output = direct(env, &mut out);
    let mut writer = FrameWriter::default();
    for sequence in 0..500 {
        let mut frame = writer.frame(1_000, sequence, 16, &[Event::Tick]).to_vec();
        let length = frame.len() as jint;
        let input = direct(env, &mut frame);
        let written = step(env, class, handle, &input, length, &output).unwrap();
        env.delete_local_ref(input);
        let answer = Answer::read(&out[..written as usize]).unwrap();
        assert_eq!(answer.header.sequence, sequence);
    }
    close(env, class, handle).unwrap();
}

fn buffers(env: &mut Env<'_>, class: &JClass<'_>) {
    let handle = open(env, class, "{}").unwrap();
    let mut frame = FrameWriter::default()
        .frame(1_000, 1, 16, &[Event::Tick])
        .to_vec();
    let length = frame.len() as jint;
    let mut out = vec![0; output_bytes_max(16)];
    let input = direct(env, &mut frame);
    let output = direct(env, &mut out);
    let byte_buffer = env.load_class(jni_str!("java.nio.ByteBuffer")).unwrap();
    let signature = "(I)Ljava/nio/ByteBuffer;";
    let heap = call(env, &byte_buffer, "allocate", signature, &[JValue::Int(64)]).unwrap();
    let heap = heap.l().unwrap();
    let null = JObject::null();

    for (input, length, output, part) in [
        (&null, 0, output.as_ref(), "found null"),
        (input.as_ref(), length, &null, "found null"),
        (&heap, 40, output.as_ref(), "one on the heap"),
        (input.as_ref(), length, &heap, "one on the heap"),
        (input.as_ref(), -1, output.as_ref(), "found -1"),
        (input.as_ref(), length + 1, output.as_ref(), "found 41"),
        (input.as_ref(), length, input.as_ref(), "overlapping"),
        (input.as_ref(), 31, output.as_ref(), "offset 0"),
    ] {
        assert_thrown(
            step(env, class, handle, input, length, output),
            BAD_FRAME,
            part,
        );
    }
    let (short, _) = out.split_at_mut(100);
    let short = direct(env, short);
    let stepped = step(env, class, handle, &input, length, &short);
    assert_thrown(stepped, SHORT_BUFFER, "has 100 bytes");
    assert!(
        step(env, class, handle, &input, length, &output).is_ok(),
        "harmed by all that"
    );
    frame[0] = 9;
    assert_thrown(
        step(env, class, handle, &input, length, &output),
        BAD_VERSION,
        "version 9",
    );
    close(env, class, handle).unwrap();
}

fn requests(env: &mut Env<'_>, class: &JClass<'_>) {
    let handle = open(env, class, "{}").unwrap();
    assert!(
        request(env, class, handle, r#"{"op":"queues"}"#)
            .unwrap()
            .contains("root")
    );
    // A character outside the basic plane, where Java's two encodings differ.
    let unknown = request(env, class, handle, "{\"op\":\"\u{1f9f6}\"}");
    assert_thrown(unknown, BAD_REQUEST, "\u{1f9f6}");
    let arguments = [
        JValue::Long(handle),
        JValue::Long(7),
        JValue::Object(&JObject::null()),
    ];
    let signature = "(JJLjava/lang/String;)Ljava/lang/String;";
    assert_thrown(
        call(env, class, "request", signature, &arguments),
        BAD_REQUEST,
        "null",
    );
    close(env, class, handle).unwrap();
}

fn panics(env: &mut Env<'_>, class: &JClass<'_>) {
    let handle = open(env, class, r#"{"config":{"testing":{"faults":true}}}"#).unwrap();
    let fault = Event::Fault(FAULT_PANIC);
    let mut frame = FrameWriter::default()
        .frame(1_000, 1, 16, &[fault])
        .to_vec();
    let length = frame.len() as jint;
    let mut out = vec![0; output_bytes_max(16)];
    let input = direct(env, &mut frame);
    let output = direct(env, &mut out);
    assert_thrown(
        step(env, class, handle, &input, length, &output),
        PANIC,
        ".rs:",
    );
    let again = step(env, class, handle, &input, length, &output);
    assert_thrown(again, ENGINE_FAILED, "open another");
    assert_thrown(
        request(env, class, handle, r#"{"op":"audit"}"#),
        ENGINE_FAILED,
        "open another",
    );
    close(env, class, handle).unwrap();
}

fn without_exception_class(env: &mut Env<'_>, class: &JClass<'_>) {
    let thrown = close(env, class, 0).expect_err("0 is no handle");
    assert_eq!(
        thrown.class, "java.lang.IllegalStateException",
        "{thrown:?}"
    );
    assert!(
        thrown.message.contains("code -1: engine handle 0x0"),
        "{thrown:?}"
    );
}
