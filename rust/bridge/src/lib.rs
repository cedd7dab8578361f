//! The native library of Heddle: C ABI and JNI natives over one engine.
