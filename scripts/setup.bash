# shellcheck shell=bash
# Checks what the machine needs before a build. On Debian installs missing packages (as root, or by
# sudo). Elsewhere, and for Java and Rust themselves, says what to do. Sourced by x.

JAVA_WANTED=17
# Debian's folder of JDKs.
JDK_FOLDER=${JDK_FOLDER:-/usr/lib/jvm}

# Prints the major version of `java`: 17 for "17.0.15", 8 for "1.8.0".
java_major() {
    "$1" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p'
}

# Sets JAVA_HOME to a JDK 17: the user's choice, the one on the PATH, or one from Debian.
need_java() {
    local home javac seen=()
    for home in "${JAVA_HOME:-}" "$(java_home_of_path)" "$JDK_FOLDER"/java-"$JAVA_WANTED"-*; do
        # An empty name would find /bin/java, which is no JDK's home.
        if [ -z "$home" ] || [ ! -x "$home/bin/java" ]; then continue; fi
        javac='with javac'
        [ -x "$home/bin/javac" ] || javac='without javac'
        if [ "$(java_major "$home/bin/java") $javac" = "$JAVA_WANTED with javac" ]; then
            export JAVA_HOME=$home
            return
        fi
        seen+=("found $home: Java $(java_major "$home/bin/java") $javac")
    done
    fail "a JDK $JAVA_WANTED is needed (with javac): the oldest Hadoop here runs on none newer," \
        "the newest on none older" "${seen[@]}" \
        "on Debian 12: apt-get install openjdk-$JAVA_WANTED-jdk-headless; or set JAVA_HOME to one"
}

java_home_of_path() {
    local java
    java=$(command -v java) || return 0
    dirname "$(dirname "$(readlink -f "$java")")"
}

# shellcheck disable=SC2120
# need_rust COMPONENT...: needs a recent cargo with these subcommands.
need_rust() {
    local wanted found component
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
    command -v cargo >/dev/null \
        || fail "cargo is not on the PATH: Rust $wanted or newer is needed (rustup installs it)"
    found=$(cargo --version | cut -d ' ' -f 2)
    [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] \
        || fail "cargo is $found, $wanted or newer is needed: rustup update"
    for component in "$@"; do
        cargo "$component" --version >/dev/null 2>&1 \
            || fail "cargo $component is missing: rustup component add ${component/fmt/rustfmt}"
    done
}

# need_packages COMMAND:PACKAGE...: installs the Debian packages of missing commands. For a package
# without a command, COMMAND is one of has_command's own words.
need_packages() {
    local pair missing=()
    for pair in "$@"; do
        has_command "${pair%%:*}" || missing+=("${pair##*:}")
    done
    [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}"
    for pair in "$@"; do
        has_command "${pair%%:*}" \
            || fail "${pair##*:} was installed, but ${pair%%:*} still does not work"
    done
}

has_command() {
    case "$1" in
        # Debian splits pip's bundle off Python: without it `import venv` works and venvs do not.
        venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
        # Debian keeps a server's programs off the PATH, in a folder for each version.
        postgresql) compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
        # A compiler without the C library's headers and start files links nothing.
        libc) echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 ;;
        # The C library of another processor has no command.
        libc-*) [ -d "/usr/${1#libc-}-linux-gnu/lib" ] ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

install_packages() {
    local root=()
    command -v apt-get >/dev/null \
        || fail "missing on this machine: $*" \
            "(names of Debian packages; install the same by your system's own means)"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "as root: apt-get install $*"
        root=(sudo)
    fi
    # `update` may fail: the lists may exist already, and a machine without network has none.
    step "installing $*" apt-get install_debian "${root[@]}" -- "$@" \
        || fail "apt-get could not install: $*"
}

install_debian() {
    local root=()
    while [ "$1" != -- ]; do root+=("$1"); shift; done
    shift
    "${root[@]}" apt-get update || true
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

need_build_tools() {
    need_java
    # shellcheck disable=SC2119
    need_rust
    need_packages cc:gcc libc:libc6-dev ld:binutils gradle:gradle unzip:unzip perl:perl
    [ "${HEDDLE_HOST_LIBC:-}" ] || need_packages python3:python3 venv:python3-venv
}
