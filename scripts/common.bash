# shellcheck shell=bash
# Shared by all parts of ./x: versions, messages, and running a step quietly into a log. Sourced by
# x, from the root of the repository. Runs nothing by itself.

# The only list is build.gradle's, oldest first. Code compiles against the oldest; the newest is
# shown.
read -r -a HADOOP_VERSIONS <<<"$(sed -n "/^ext.hadoopVersions = /s/[^0-9. ]//gp" build.gradle \
    | sed 's/^[. ]*//')"
# shellcheck disable=SC2034
NEWEST_HADOOP=${HADOOP_VERSIONS[-1]}
LOGS=build/logs

heddle_version() { sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml; }

say() { printf '%s\n' "$*"; }

# Prints its arguments, one a line, and ends: the user must fix something.
fail() {
    printf 'x: %s\n' "$@" >&2
    exit 1
}

# step TITLE LOG COMMAND...: runs COMMAND with its output in build/logs/LOG.log. Prints the seconds,
# and the log's end after a failure. Returns COMMAND's exit code.
step() {
    local title=$1 log=$LOGS/$2.log code=0 start=$SECONDS
    shift 2
    mkdir -p "$LOGS"
    printf '%-46s ' "$title"
    "$@" >"$log" 2>&1 </dev/null || code=$?
    if [ $code -eq 0 ]; then
        printf 'ok      %4d s\n' $((SECONDS - start))
    else
        printf 'FAILED  %4d s  (exit %d)\n' $((SECONDS - start)) $code
        show_failure "$log" >&2
    fi
    return $code
}

# hanging_threads LOG: if a JVM hung and printed its threads, shows its earlier output and the
# threads that run the project's code.
hanging_threads() {
    grep -q '^Full thread dump' "$1" || return 0
    sed '/^Full thread dump/,$d' "$1" | tail -n 20
    sed -n '/^Full thread dump/,$p' "$1" \
        | awk 'BEGIN { RS = ""; ORS = "\n\n" } /at io\.heddle\./ { print }'
}

# Shows the part of a log that says what failed: the lists of JUnit, cargo test and TAP, a
# compiler's errors, else its end.
show_failure() {
    local lines
    lines=$(sed -n -e '/^There w.* failure/,$p' -e '/^failures:$/,/^test result/p' \
        -e '/^not ok/,/^ok/p' -e '/^JNI: /p' "$1")
    [ "$lines" ] || lines=$(grep -E -A 6 '(^|: )error(\[E[0-9]*\])?: ' "$1" || true)
    [ "$lines" ] || lines=$(hanging_threads "$1")
    [ "$lines" ] || lines=$(tail -n 40 "$1")
    printf '    | %s\n' "from $1:"
    head -n 80 <<<"$lines" | sed 's/^/    | /'
}
