# shellcheck shell=bash
# ./x check, for developers before each commit: format, lints and house rules of everything, and the
# quick unit tests of what changed. Sourced by x, after test.bash.

# Tests that take minutes belong to ./x test: the simulator's swarms, a policy added to a copy, the
# stores' harness.
CHECK_SLOW=(heddle-sim:swarm heddle-sim:add_a_policy heddle-economy:harness)
# Tests of the shim that take half of its suite's time. They run if they themselves changed.
CHECK_SLOW_SHIM=(LockTimeTest JsonFetcherTest)

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

# check_shim CHANGED: the shim's quick tests on the newest Hadoop, in two JVMs side by side, because
# some wait. ./x test compiles against the other versions.
check_shim() {
    local changed=$1 start=$SECONDS name half classes=()
    if ! build_everything; then
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
    queue_steps "$(shim_step check-shim-1 "${classes[@]:0:half}")"
    queue_steps "$(shim_step check-shim-2 "${classes[@]:half}")"
    run_queued_steps
}

# shim_step NAME CLASS...: prints a step for queue_steps.
shim_step() {
    local IFS=$'\t'
    printf '%s\t' "tests of the shim: Hadoop $NEWEST_HADOOP" "$1" count_junit run_junit java
    printf '%s\n' "$NEWEST_HADOOP"$'\t'"$*"
}

# run_check BASE: records each step as ./x test does.
run_check() {
    local changed crate arguments start=$SECONDS
    changed=$(changed_files "$1")
    test_step 'format' check-format count_exit_code cargo fmt --all --check
    test_step 'lints' check-clippy count_exit_code \
        cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
    test_step 'house rules' check-tidy count_cargo \
        cargo test --locked -p heddle-core --test house
    if grep -q '\.md$' <<<"$changed"; then
        test_step 'documents' check-documents count_cargo \
            cargo test --locked -p heddle-cli --test documents
    fi
    if grep -qE '^(x$|scripts/|native-tests/run|\.ci/)' <<<"$changed"; then
        need_packages shellcheck:shellcheck
        test_step 'shell scripts' check-shell count_exit_code lint_scripts
    fi
    while read -r crate; do
        [ "$crate" ] || continue
        mapfile -t arguments < <(quick_tests "$crate")
        test_step "tests of $crate" "check-$crate" count_cargo \
            bounded cargo test --locked --no-fail-fast "${arguments[@]}"
    done < <(changed_crates "$changed")
    if grep -q '^java/' <<<"$changed"; then
        check_shim "$changed"
    fi
    finish_tests "$start"
}
