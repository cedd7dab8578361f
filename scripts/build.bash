# shellcheck shell=bash
# Builds the native library, the jars and the class paths, and runs a main class with them. Sourced
# by x. Asks cargo and Gradle each time: they know what is up to date.

JVM_OPTIONS=scripts/jvm-options

run_gradle() {
    # No daemon: ./x leaves no process behind. Plain output, because it goes to a log.
    gradle --no-daemon --console=plain "$@"
}

build_native() { scripts/native-library ${HEDDLE_HOST_LIBC:+--host-libc}; }

build_command_line() { cargo build --release --locked -p heddle-cli; }

# The command line for tests, in the profile and with the features of `cargo test --workspace`, which
# then does not compile its crates again. The release build takes minutes more.
build_tests_command_line() { cargo build --profile test --workspace --locked --bin heddle; }

build_laboratory() { cargo build --release --locked -p heddle-lab; }

# command_line [NAME]: the path of heddle, or of the program NAME, in cargo's folder.
command_line() { printf '%s/release/%s' "${CARGO_TARGET_DIR:-$ROOT/target}" "${1:-heddle}"; }

build_jars() { run_gradle -x nativeLibrary jar testClasses classPaths; }

build_everything() {
    need_build_tools
    step 'native library' native build_native || return
    step 'jars and class paths (Gradle)' gradle build_jars
}

# class_path_of HADOOP OUTPUT...: prints Heddle's jar, the compiled classes in OUTPUT, then Hadoop.
class_path_of() {
    local hadoop=$1 output path
    shift
    path=$ROOT/java/build/libs/heddle-$(heddle_version).jar
    for output in "$@"; do path=$path:$ROOT/$output; done
    printf '%s:%s' "$path" "$(cat "build/classpath/hadoop-$hadoop.txt")"
}

# Prints the folders of a subproject's compiled classes and resources.
outputs_of() { printf '%s\n' "$1/build/classes/java/$2" "$1/build/resources/$2"; }

# run_main CLASS FOLDER HADOOP ARGUMENT...: runs a program of integration/ in FOLDER; does not
# return.
run_main() {
    local class=$1 folder=$2 hadoop=$3 outputs
    shift 3
    mapfile -t outputs < <(outputs_of integration main)
    mkdir -p "$folder"
    CLASSPATH=$(class_path_of "$hadoop" "${outputs[@]}")
    export CLASSPATH
    cd "$folder" || return
    exec "$JAVA_HOME/bin/java" "@$ROOT/$JVM_OPTIONS" "$class" "$@"
}
