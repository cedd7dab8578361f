# shellcheck shell=bash
# The part `platforms` of ./x test: the jar for all processors, the other one's library under
# emulation, musl's, other Javas than the one that builds, the same bytes from another folder.
# Sourced by x.

# Java and the versions of Hadoop that run on it.
JAVAS=('8 3.3.6 3.4.3' '11 3.3.6 3.4.3' '21 3.4.3 3.5.0' '25 3.5.0')
OTHER_ARCH=aarch64
OTHER_SYSROOT=/usr/$OTHER_ARCH-linux-gnu
# Tests whose own servers need a module, jdk.httpserver, that the runtime of Java 11 lacks.
NOT_ON_JAVA_11='\.(FactFeedTest|TaskFactsTest)$'
EMULATED_JAVA=21
# Under emulation a JVM takes twenty times as long: only the tests of the crossing, and those of one
# scheduler under a real ResourceManager. NativeLibraryTest starts JVMs without QEMU.
EMULATED_TESTS='\.engine\.(FrameTest|JournalReplayTest|NumbersTest)$|\.AskTest$'

part_platforms() {
    [ "$1" ] && return
    await_early_steps
    if [ "$(uname -m)" = "$OTHER_ARCH" ]; then
        say "platforms: only x86_64 emulates $OTHER_ARCH, this machine is one: left out"
        return
    fi
    need_packages "qemu-$OTHER_ARCH:qemu-user" "libc-$OTHER_ARCH:libc6-arm64-cross" \
        ld-musl-config:musl
    # For the steps that run later, too: `./x demo` among them builds first, and a build for one
    # processor would take the other one's library away.
    export HEDDLE_ALL_PLATFORMS=1
    test_step 'platforms: the jar for all' platforms-build count_exit_code build_everything
    test_step 'platforms: packages' platforms-packages count_tap scripts/self-test
    # Not queued: it writes where the next does.
    test_step 'platforms: C programs on musl' platforms-musl count_closing run_native_musl
    queue_steps "$(
        printf '%s\t' "platforms: C programs on $OTHER_ARCH" platforms-native count_closing
        printf '%s\n' run_native_emulated
        printf '%s\t' 'platforms: the same bytes' platforms-bytes count_exit_code
        printf '%s\n' build_elsewhere
        shim_on_java_step "$EMULATED_JAVA" "$NEWEST_HADOOP" "$OTHER_ARCH"
        local java hadoop versions
        for versions in "${JAVAS[@]}"; do
            read -r java versions <<<"$versions"
            for hadoop in $versions; do shim_on_java_step "$java" "$hadoop"; done
            printf '%s\t' "platforms: a cluster on Java $java, Hadoop $hadoop" \
                "platforms-demo-$java" count_exit_code on_java "$java" - run_demo "$java"
            printf '%s\n' "$hadoop"
        done)"
}

# shim_on_java_step JAVA HADOOP [ARCH]: prints the step of the shim's tests.
shim_on_java_step() {
    local name=platforms-java-$1${3:+-$3}-$2 classes
    mapfile -t classes < <(test_classes java '')
    [ ! "${3:-}" ] ||
        mapfile -t classes < <(printf '%s\n' "${classes[@]}" | grep -E "$EMULATED_TESTS")
    [ "$1" != 11 ] ||
        mapfile -t classes < <(printf '%s\n' "${classes[@]}" | grep -Ev "$NOT_ON_JAVA_11")
    printf '%s\t' "platforms: shim on Java $1${3:+, $3}, Hadoop $2" "$name" count_junit \
        on_java "$1" "${3:--}" run_junit java "$2" "$name"
    for_version java "$2" all "${classes[@]}" | paste -sd '\t'
}

# on_java VERSION ARCH COMMAND...: an ARCH of - is this machine's.
on_java() {
    local home
    home=$(scripts/java-runtime "$1" "${2/#-/$(uname -m)}") || return
    JAVA_HOME=$home "${@:3}"
}

# run_demo JAVA HADOOP: a mini cluster with real jobs. Not ./x demo, which wants a JDK and builds the
# jar for one processor.
run_demo() {
    (run_main io.heddle.integration.demo.Demo "build/run/demo-java-$1" "$2" --policy fair)
}

run_native_emulated() {
    local zig
    zig=$(scripts/native-library --print-zig) || return
    HEDDLE_NATIVE_RUNNER="qemu-$OTHER_ARCH -L $OTHER_SYSROOT" \
        CC="$zig cc -target $OTHER_ARCH-linux-gnu.2.17" \
        HEDDLE_LIBRARY_DIR=$ROOT/build/native/linux-$OTHER_ARCH bounded native-tests/run
}

# The programs and the library find musl by its loader, which Debian's package has; `env` for a runner
# leaves out the sanitizers, whose libraries are glibc's. No JVM: none for musl runs with Debian's
# zlib.
run_native_musl() {
    local zig folder=build/musl
    zig=$(scripts/native-library --print-zig) || return
    HEDDLE_NATIVE_FOLDER=$folder bounded scripts/native-library --musl || return
    HEDDLE_NATIVE_RUNNER=env CC="$zig cc -target $(uname -m)-linux-musl -dynamic" \
        HEDDLE_LIBRARY_DIR=$folder/linux-musl-$(uname -m) bounded native-tests/run
}

# Builds the libraries from a copy of the sources in another folder, and compares.
build_elsewhere() {
    local copy arch code=0
    copy=$(mktemp -d)
    git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$copy"
    if bounded "$copy/scripts/native-library" --all-platforms; then
        for arch in x86_64 "$OTHER_ARCH"; do
            cmp {,"$copy"/}"build/native/linux-$arch/libheddle.so" || code=1
        done
    else
        code=1
    fi
    rm -rf "$copy"
    return $code
}
