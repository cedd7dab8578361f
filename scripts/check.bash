# shellcheck shell=bash
# ./x check, for developers before each commit: format, lints and house rules of everything, and the
# quick unit tests of what changed. Sourced by x, after test.bash.

# Tests that take minutes belong to ./x test: the simulator's swarms, a policy added to a copy, the
# stores' harness.
CHECK_SLOW=(heddle-sim:swarm heddle-sim:add_a_policy heddle-economy:harness)
# Tests of the shim that take half of its suite's time. They run if they themselves changed.
CHECK_SLOW_SHIM=(LockTimeTest JsonFetcherTest)

# What shellcheck reads.
SCRIPTS='^(x$|scripts/|native-tests/run|\.ci/)'

# Lists the files that differ from BASE. Without BASE: uncommitted files, else the last commit's.
changed_files() {
    local base=$1
    if [ ! "$base" ]; then
        base=HEAD
        [ "$(git status --porcelain)" ] || base=HEAD~1
    fi
    git diff --name-only "$base"
    git ls-files --others --exclude-standard
}

# Lists the crates with changed files.
changed_crates() {
    local folder
    while read -r folder; do
        [ -f "rust/$folder/Cargo.toml" ] || continue
        sed -n '/^name = /{s/.*"\(.*\)"/\1/p;q}' "rust/$folder/Cargo.toml"
    done < <(sed -n 's|^rust/\([^/]*\)/.*|\1|p' <<<"$1" | sort -u)
}

# Prints the test programs of a crate, except the slow ones, as arguments for cargo.
quick_tests() {
    local crate=$1 folder=rust/${1#heddle-} path name arguments=(-p "$1")
    if [ -f "$folder/src/lib.rs" ]; then arguments+=(--lib); else arguments+=(--bins); fi
    for path in "$folder"/tests/*.rs "$folder"/tests/*/main.rs; do
        [ -f "$path" ] || continue
        name=$(basename "${path%/main.rs}" .rs)
        case " ${CHECK_SLOW[*]} " in *" $crate:$name "*) ;; *) arguments+=(--test "$name") ;; esac
    done
    printf '%s\n' "${arguments[@]}"
}

# Packs the jar beside what cargo compiles. The shim's tests load another library than the jar's,
# whose optimizer would take most of the time of a check; the jar may have an old one.
start_packing() {
    need_build_tools
    compgen -G 'build/native/linux-*/libheddle.so' >/dev/null \
        || step 'native library' native build_native || return 0
    start_beside check-jars build_jars
}

# Builds the library of the bridge's own tests, which has assertions and checks of overflow. Copies
# it: another cargo may write it anew while a JVM has it.
build_checked_library() {
    cargo test --quiet --locked --workspace --no-run --test library \
        && mkdir -p build/checked \
        && cp "${CARGO_TARGET_DIR:-target}/debug/deps/libheddle.so" build/checked/new.so \
        && mv build/checked/new.so build/checked/libheddle.so
}

# queue_shim_tests CHANGED: the shim's quick tests on the newest Hadoop, in two JVMs side by side,
# because some wait. ./x test compiles against the other versions.
queue_shim_tests() {
    local changed=$1 start=$SECONDS name half classes=()
    if [ ! "${beside:-}" ] \
        || ! step 'jars and class paths (Gradle)' gradle finish_beside check-jars \
        || ! step 'library with assertions' check-library build_checked_library; then
        record 'build' $((SECONDS - start)) 0 1 0
        return
    fi
    while read -r name; do
        case " ${CHECK_SLOW_SHIM[*]} " in
            *" ${name##*.} "*) grep -q "/${name##*.}\.java$" <<<"$changed" || continue ;;
        esac
        classes+=("$name")
    done < <(test_classes java '')
    half=$(((${#classes[@]} + 1) / 2))
    # shellcheck disable=SC2034
    test_library=$ROOT/build/checked/libheddle.so
    queue_steps "$(shim_step check-shim-1 "${classes[@]:0:half}")"
    queue_steps "$(shim_step check-shim-2 "${classes[@]:half}")"
}

# shim_step NAME CLASS...: prints a step for queue_steps.
shim_step() {
    local IFS=$'\t'
    printf '%s\t' "tests of the shim: Hadoop $NEWEST_HADOOP" "$1" count_junit run_junit java
    printf '%s\n' "$NEWEST_HADOOP"$'\t'"$*"
}

# queue_crate_tests CRATE...: compiles the quick tests of all at once, then queues a step for each.
queue_crate_tests() {
    local crate arguments all=()
    for crate in "$@"; do
        mapfile -t arguments < <(quick_tests "$crate")
        queue_steps "$(printf '%s\t' "tests of $crate" "check-$crate" count_cargo bounded cargo \
            test --locked --no-fail-fast)$(IFS=$'\t'; printf '%s' "${arguments[*]}")"
        all+=(-p "$crate")
    done
    [ $# -eq 0 ] || test_step 'tests compile' check-compile count_exit_code \
        bounded cargo test --locked --no-run "${all[@]}"
}

# run_check BASE: records each step as ./x test does. What waits for PostgreSQL or for a time limit
# runs beside what computes.
run_check() {
    local changed crates start=$SECONDS
    changed=$(changed_files "$1")
    mapfile -t crates < <(changed_crates "$changed")
    ! grep -qE "$SCRIPTS" <<<"$changed" || need_packages shellcheck:shellcheck
    if grep -q '^java/' <<<"$changed"; then start_packing; fi
    test_step 'format' check-format count_exit_code cargo fmt --all --check
    test_step 'house rules' check-tidy count_cargo \
        cargo test --locked -p heddle-core --test house
    queue_crate_tests "${crates[@]}"
    # Not beside a compilation of tests: cargo locks its folder.
    queue_steps "$(printf '%s\t' 'lints' check-clippy count_exit_code cargo clippy --quiet \
        --locked --workspace --all-targets -- -D)warnings"
    if grep -q '\.md$' <<<"$changed"; then
        queue_steps "$(printf '%s\t' 'documents' check-documents count_cargo bounded cargo test \
            --locked -p heddle-cli --test)documents"
    fi
    if grep -qE "$SCRIPTS" <<<"$changed"; then
        queue_steps "$(printf '%s\t' 'shell scripts' check-shell count_exit_code)lint_scripts"
    fi
    if grep -q '^java/' <<<"$changed"; then
        queue_shim_tests "$changed"
    fi
    run_queued_steps
    finish_tests "$start"
}
