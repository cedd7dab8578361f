# shellcheck shell=bash
# ./x test: its parts, how their tests are counted, and the closing summary. Sourced by x. A failing
# part does not stop the others; the exit code says whether any failed.

# shellcheck disable=SC2034
TEST_PARTS=(scripts rust java native integration readme docs)
STEP_TIMEOUT_S=${HEDDLE_STEP_TIMEOUT_S:-2700}
# Set by `./x test --all`: every class on every version, and the longer parts.
TEST_ALL=
# The parts that `--all` adds to TEST_PARTS.
LONG_PARTS=(platforms soak hadoop-tests)
# Steps that run at a time, where they may, whatever the processors do.
LANES=${HEDDLE_TEST_LANES:-3}
# More of them while processors are idle for part of the time, in percent: a mini cluster mostly
# waits for heartbeats and expiries, which more processors do not shorten. On a machine that is slow
# or busy, more steps would only make each take longer, and a cluster costs in each second of it.
SPARE_LANES=7
SPARE_IDLE=10
SPARE_WINDOW_S=8
# Each may need this much, and the one before it may still grow.
SPARE_MEMORY_KB=8000000
# The logs of steps that take minutes.
LONG_STEPS='rust-tests|fair-|docs-|java-|tenants-|change-|market-|jobs-|racks-|sizes-|readme-'
LONG_STEPS+='|Stock.*Test|pages-|FederationTest'
# Steps that may run beside others, from all parts: lines of test_step's arguments, separated by
# tabs. They run at the end, so that no part leaves processors idle while its last step ends.
queued_steps=

# The test whose cluster and job load the classes of the archives. Where an archive is missing, it
# runs before the other live tests, and makes it.
ARCHIVED_CLASS=io.heddle.integration.FactsTest
# The names of its steps, and the process in which they run one after another.
early_steps=()
early_process=
# What is_idle has seen: when, and the idle and all ticks of the processors until then.
idle_before=()

# Those of the bench's workloads that take few seconds each.
QUICK_WORKLOADS=mapreduce,churn,fit-10,full-10,limited-10

# The process of start_beside, and whether all Rust tests were compiled.
beside=
tests_compiled=
# The native library that JVMs load, if not the jar's.
test_library=

total_passed=0
total_failed=0
summary=()
failed_logs=()

# record TITLE SECONDS PASSED FAILED PROCESSOR: adds a line to the summary and prints it. PROCESSOR:
# seconds of processor time, which other work on the machine hardly changes.
record() {
    local line
    total_passed=$((total_passed + $3))
    total_failed=$((total_failed + $4))
    line=$(printf '%-46s %4d passed %4d failed  %4d s  %4d s CPU' "$1" "$3" "$4" "$2" "$5")
    summary+=("$line")
    say "$line"
}

# test_step TITLE LOG COUNT COMMAND...: runs COMMAND into build/logs/LOG.log. `COUNT CODE FILE` then
# reads "PASSED FAILED" from the log. A command that failed without naming a test counts as one
# failed test, and so does one that ran no test: nothing fails silently.
test_step() {
    local title=$1 log=$LOGS/$2.log count=$3 code=0 start=$SECONDS passed failed processor
    local TIMEFORMAT='%U %S'
    shift 3
    mkdir -p "$LOGS"
    say "$title ..."
    { time "$@" >"$log" 2>&1 </dev/null; } 2>"$log.time" || code=$?
    processor=$(awk '{ print int($1 + $2 + 0.5) }' "$log.time")
    rm -f "$log.time"
    read -r passed failed <<<"$("$count" $code "$log")"
    if [ $code -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
    # 124: ended by `timeout`; 128 + N: by signal N, its own or another process's.
    [ $code -eq 0 ] || echo "x: exit code $code" >>"$log"
    if [ $((passed + failed)) -eq 0 ]; then
        failed=1
        echo "x: this step ran no test" >>"$log"
    fi
    record "$title" $((SECONDS - start)) "$passed" "$failed" "$processor"
    [ "$failed" -eq 0 ] || show_failure "$log" >&2
    [ "$failed" -eq 0 ] || failed_logs+=("$log")
}

# --foreground: Ctrl-C must reach the command as well.
bounded() { timeout --foreground --kill-after=30 "$STEP_TIMEOUT_S" "$@"; }

# --- How each kind of output is counted: arguments CODE and LOG, output "PASSED FAILED" ---------

count_exit_code() { if [ "$1" -eq 0 ]; then echo 1 0; else echo 0 1; fi; }

count_cargo() {
    awk '/^test result: / { for (i = 2; i <= NF; i++) {
             if ($i ~ /^passed/) p += $(i - 1)
             if ($i ~ /^failed/) f += $(i - 1) } }
         END { print p + 0, f + 0 }' "$2"
}

# Counts the closing line of native-tests/run, in the form of ./x test's own.
count_closing() {
    local counts
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$2" | tail -n 1)
    echo "${counts:-0 0}"
}

count_tap() { awk '/^ok / { p++ } /^not ok / { f++ } END { print p + 0, f + 0 }' "$2"; }

# Counts `OK (12 tests)`, or `Tests run: 12,  Failures: 1`, without the skipped ones, which JUnit
# counts as run. Warnings of -Xcheck:jni are one more failure. A class rule's finding at the end is
# also a failure but no test, so failures may outnumber tests.
count_junit() {
    awk '/^OK \([0-9]+ tests?\)/ { gsub(/[^0-9]/, "", $2); p += $2 }
         /^Tests run: [0-9]+,  Failures: [0-9]+/ { gsub(/,/, ""); p += $3 - $5; f += $5 }
         /^Skipped: / { p-- }
         /^JNI: / { jni = 1 }
         END { print (p > 0 ? p : 0), f + jni + 0 }' "$2"
}

# There is one compile task for each version and subproject; Gradle names those that failed.
count_link_check() {
    local failed
    failed=$(grep -c 'linkCheck[0-9]* FAILED$' "$2" || true)
    if [ "$1" -eq 0 ]; then failed=0; fi
    echo $((2 * ${#HADOOP_VERSIONS[@]} - failed)) "$failed"
}

# queue_steps LINES: adds steps for run_queued_steps.
queue_steps() { [ ! "$1" ] || queued_steps+=$1$'\n'; }

# Prints the queued steps, those of LONG_STEPS first: one that takes minutes and begins last leaves
# the other lanes without work.
long_steps_first() {
    local long=$'^[^\t]*\t('"$LONG_STEPS)"
    grep -E "$long" <<<"${queued_steps%$'\n'}" || true
    grep -vE "$long" <<<"${queued_steps%$'\n'}" || true
}

# Runs the queued steps, LANES at a time. A lane's step is a subshell and returns its counts in a
# file.
run_queued_steps() {
    [ "$queued_steps" ] || return 0
    mkdir -p "$LOGS"
    local line lanes=() names=("${early_steps[@]}") name counts
    # A shell makes its background commands ignore Ctrl-C; they must still end with it.
    trap 'kill -TERM 0' INT
    while IFS= read -r line; do
        await_lane
        case $line in *$'\trun_junit\tintegration\t'*) await_early_steps ;; esac
        names+=("$(cut -f 2 <<<"$line")")
        in_lane "$line"
        lanes+=($!)
    done < <(long_steps_first)
    wait
    trap - INT
    queued_steps=
    for name in "${names[@]}"; do
        read -r -a counts <"$LOGS/$name.counts"
        total_passed=$((total_passed + counts[0]))
        total_failed=$((total_failed + counts[1]))
        summary+=("$(tail -n 1 "$LOGS/$name.counts")")
        [ "${counts[1]}" -eq 0 ] || failed_logs+=("$LOGS/$name.log")
    done
}

# Waits until another step may run; `lanes` has the processes of those that were started.
await_lane() {
    local process running
    while :; do
        running=()
        for process in "${lanes[@]}"; do
            ! kill -0 "$process" 2>/dev/null || running+=("$process")
        done
        lanes=("${running[@]}")
        [ ${#lanes[@]} -ge "$LANES" ] || return 0
        if [ ${#lanes[@]} -lt $((LANES + SPARE_LANES)) ] && is_idle; then return 0; fi
        sleep 1
    done
}

# Returns whether processors were idle for long enough in the window that has just ended, and memory
# is left for another step.
is_idle() {
    local user nice system idle waiting irq softirq stolen all then=("${idle_before[@]}")
    local age=$((SECONDS - ${then[0]:-0}))
    [ $age -ge $SPARE_WINDOW_S ] || return 1
    read -r _ user nice system idle waiting irq softirq stolen _ </proc/stat
    all=$((user + nice + system + idle + waiting + irq + softirq + stolen))
    idle_before=("$SECONDS" "$idle" "$all")
    # After a time with all lanes in use, the window begins now.
    [ "${then[2]:-}" ] && [ $age -lt $((2 * SPARE_WINDOW_S)) ] \
        && [ $((100 * (idle - then[1]))) -ge $((SPARE_IDLE * (all - then[2]))) ] \
        && [ "$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)" -ge $SPARE_MEMORY_KB ]
}

# in_lane LINE: starts one step in the background.
in_lane() {
    local counts
    counts=$(counts_file "$1")
    step_in_lane "$1" "$counts" &
}

# counts_file LINE: prints the path of a step's counts. They count if the lane dies without a result.
counts_file() {
    local name
    name=$(cut -f 2 <<<"$1")
    printf '0 1\n%s: died\n' "$name" >"$LOGS/$name.counts"
    printf '%s' "$LOGS/$name.counts"
}

# in_turn LINE...: runs steps one after another.
in_turn() {
    local line
    for line; do step_in_lane "$line" "$(counts_file "$line")"; done
}

# step_in_lane LINE FILE: runs one step; leaves "PASSED FAILED" and its line of the summary in FILE.
step_in_lane() {
    local fields
    IFS=$'\t' read -r -a fields <<<"$1"
    total_passed=0 total_failed=0 summary=()
    test_step "${fields[@]}"
    printf '%s %s\n%s\n' "$total_passed" "$total_failed" "${summary[0]}" >"$2"
}

# Lists every script of the repository; shellcheck reads them. SC2054 takes the comma in
# -fsanitize=address,undefined for one between array elements.
every_script() { printf '%s\n' x .ci/run native-tests/run scripts/* | while read -r file; do
    [ -f "$file" ] && head -n 1 "$file" | grep -q 'bash' && printf '%s\n' "$file"; done; }

lint_scripts() { every_script | xargs shellcheck -x -e SC2054; }

# --- The parts: arguments CLASS and HADOOP VERSION... -------------------------------------------

part_scripts() { test_step 'scripts and packages' scripts count_tap scripts/self-test; }

# start_beside LOG COMMAND...: runs a command beside what follows, one at a time.
start_beside() {
    local log=$LOGS/$1.out
    shift
    mkdir -p "$LOGS"
    # A shell makes its background commands ignore Ctrl-C; they must still end with it.
    trap 'kill -TERM 0' INT
    "$@" >"$log" 2>&1 </dev/null &
    beside=$!
}

# finish_beside LOG: waits for that command; prints what it wrote, and returns its exit code.
finish_beside() {
    local code=0
    wait "$beside" || code=$?
    beside=
    cat "$LOGS/$1.out"
    return $code
}

# Compiles the Rust tests beside the native library, whose optimizer uses one processor for minutes.
# Cargo locks other folders for it.
start_compiling_tests() {
    start_beside rust-compile cargo test --locked --workspace --no-run
}

finish_compiling_tests() { finish_beside rust-compile && tests_compiled=1; }

part_rust() {
    test_step 'rust: format' rust-format count_exit_code cargo fmt --all --check
    # Here, because later parts use what is compiled.
    test_step 'rust: tests compile' rust-compile count_exit_code finish_compiling_tests
    queue_steps "$(printf '%s\t' 'rust: tests' rust-tests count_cargo bounded cargo test --locked \
        --workspace)--no-fail-fast"
    # Beside clusters, which wait. Not beside the start of the tests: cargo locks its folder.
    queue_steps "$(printf '%s\t' 'rust: clippy' rust-clippy count_exit_code cargo clippy --quiet \
        --locked --workspace --all-targets -- -D)warnings"
    queue_steps "$(printf '%s\t' 'rust: documentation' rust-doc count_exit_code env \
        RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --workspace)--no-deps"
}

part_java() {
    local class=$1 hadoop classes here name
    shift
    [ "$class" ] || queue_steps "$(printf '%s\t' 'java: compiles against every Hadoop' link-check \
        count_link_check run_gradle -x nativeLibrary --continue)linkCheck"
    mapfile -t classes < <(test_classes java "$class")
    [ ${#classes[@]} -gt 0 ] || return 0
    queue_steps "$(for hadoop in "$@"; do
        here=$(for_version java "$hadoop" "$class" "${classes[@]}")
        [ "$here" ] || continue
        name=java-$hadoop
        printf '%s\t' "java: Hadoop $hadoop" "$name" count_junit run_junit java "$hadoop" "$name"
        paste -sd '\t' <<<"$here"
    done)"
}

part_native() {
    [ -x native-tests/run ] || return 0
    test_step 'native: C programs, checked build' native-tests count_closing \
        bounded native-tests/run
    # The shipped library is another build: other profile, other linker, other C library.
    test_step 'native: C programs, the shipped library' native-shipped count_closing \
        bounded env HEDDLE_LIBRARY_DIR="$ROOT/build/native/linux-x86_64" native-tests/run
}

part_integration() {
    local class=$1 hadoop name classes
    shift
    mapfile -t classes < <(test_classes integration "$class")
    [ ${#classes[@]} -gt 0 ] || return 0
    # The console's tests need a real browser.
    case "$class" in '' | *Console*Test) need_packages chromium:chromium ;; esac
    # These tests run the command line.
    case "$class" in '' | *SpnegoTest | *MapReduceTest | *ApplyTest | *RecordingTest)
        step 'heddle, the command line, for tests' heddle build_tests_command_line || true
        HEDDLE_COMMAND=${CARGO_TARGET_DIR:-$ROOT/target}/debug/heddle
        export HEDDLE_COMMAND
        ;;
    esac
    HEDDLE_TEZ=$(cat build/classpath/tez.txt)
    export HEDDLE_TEZ
    HEDDLE_ROUTER=$(cat build/classpath/router.txt)
    export HEDDLE_ROUTER
    case "${class:-${TEST_ALL:+SparkTest}}" in *Spark*Test | *GrantsTest | *FederationTest)
        need_packages python3:python3 venv:python3-venv
        HEDDLE_SPARK=$(scripts/pyspark) || true
        export HEDDLE_SPARK
        ;;
    esac
    HEDDLE_SLS_SAMPLES=$(<build/classpath/sls-samples.txt)
    export HEDDLE_SLS_SAMPLES
    start_class_archives "$class" "$@"
    queue_steps "$(for hadoop in "$@"; do
        while read -r name; do
            case " ${early_steps[*]} " in *" ${name##*.}-$hadoop "*) continue ;; esac
            printf '%s %s\n' "$(step_of "$name" "$class")" "$name"
        done < <(for_version integration "$hadoop" "$class" "${classes[@]}") |
            live_steps "$hadoop"
    done)"
}

# start_class_archives CLASS HADOOP...: makes those that are missing beside other steps, which do
# not wait for heartbeats as a cluster does. One CLASS alone starts too few JVMs to be worth one.
start_class_archives() {
    local class=$1 hadoop line lines=() name=${ARCHIVED_CLASS##*.}
    shift
    [ ! "$class" ] && [ ${#early_steps[@]} -eq 0 ] || return 0
    mkdir -p "$LOGS"
    # A shell makes its background commands ignore Ctrl-C; they must still end with it.
    trap 'kill -TERM 0' INT
    for hadoop in "$@"; do
        [ ! -f "$(class_archive "$hadoop")" ] || continue
        line=$(printf '%s\t' "$name: Hadoop $hadoop" "$name-$hadoop" count_junit \
            make_class_archive "$hadoop" run_junit integration "$hadoop" "$name-$hadoop")
        lines+=("$line$ARCHIVED_CLASS")
        early_steps+=("$name-$hadoop")
    done
    [ ${#lines[@]} -gt 0 ] || return 0
    # Each before any runs: one that is never reached counts as failed.
    for line in "${lines[@]}"; do counts_file "$line" >/dev/null; done
    in_turn "${lines[@]}" &
    early_process=$!
}

# Before the other live tests of the queue, and before what packs the jar again.
await_early_steps() {
    [ ! "$early_process" ] || wait "$early_process" || true
    early_process=
}

# Lists the documents whose `./x` commands are run unchanged. Pages with `sh` blocks have part_docs.
documents() {
    git ls-files --cached --others --exclude-standard '*.md' | while read -r file; do
        grep -q '^```sh$' "$file" || printf '%s\n' "$file"
    done
}

# Prints the `./x` commands in their code blocks, without prompt and comment.
readme_commands() {
    documents | while read -r file; do
        awk '/^ *```/ { inside = !inside; next } inside' "$file"
    done | sed -n 's/^ *\(\$ \)\{0,1\}\(\.\/x [^#]*[^# ]\).*$/\2/p' | sort -u
}

# Runs each command, so that the documents are true. What this run has already done is
# skipped. The bench runs its quick form, with few applications except with --all: its figures are
# not tested. The demo runs its comparison with --all only: it is a second run, and DemoTest tests
# what it prints.
part_readme() {
    local command words
    queue_steps "$(while read -r command; do
        case $command in
            './x build' | './x test' | './x test '*) continue ;;
            './x bench'*)
                command="$command --quick"
                [ "$TEST_ALL" ] || command="$command --workloads $QUICK_WORKLOADS"
                ;;
            './x demo'*) [ "$TEST_ALL" ] || command="$command --no-comparison" ;;
        esac
        read -r -a words <<<"$command"
        printf '%s\t' "documents: $command" "readme-${words[1]}" count_exit_code bounded
        tr ' ' '\t' <<<"${words[*]}"
    done < <(readme_commands))"
}

# Runs the pages of docs/ with `sh` blocks like an operator, on real daemons. Newest Hadoop only:
# nothing in them depends on the version.
part_docs() {
    local page name
    [ "$1" ] && return
    for page in docs/*.md; do
        grep -q '^```sh$' "$page" || continue
        name=${page##*/}
        queue_steps "$(printf '%s\t' "$page" "docs-${name%.md}" count_tap page_step)$page"
    done
}

# page_step PAGE: builds the command line first, so that the time limit is the page's own. The page
# says `cargo build --release`; except with --all, that takes the tests' command line.
page_step() {
    if [ "$TEST_ALL" ]; then
        build_command_line && bounded scripts/page-test "$1"
    else
        build_tests_command_line && stand_in_for_release build/run/release \
            && PATH=$ROOT/build/run/release/bin:$PATH CARGO_TARGET_DIR=$ROOT/build/run/release \
                bounded scripts/page-test "$1"
    fi
}

# stand_in_for_release FOLDER: makes a target folder with the tests' command line as its release,
# and a cargo for which that is up to date. Pages run side by side: each file is moved into place.
stand_in_for_release() {
    local new target=${CARGO_TARGET_DIR:-$ROOT/target}
    mkdir -p "$1/bin" "$1/release"
    new=$(mktemp -d "$1/new.XXXXXX")
    cp "$target/debug/heddle" "$new/heddle"
    {
        printf '#!/bin/sh\n[ "$*" = "build --release --locked -p heddle-cli" ] && exit\n'
        printf 'CARGO_TARGET_DIR=%q exec %q "$@"\n' "$target" "$(command -v cargo)"
    } >"$new/cargo"
    chmod +x "$new/cargo"
    mv "$new/heddle" "$1/release/" && mv "$new/cargo" "$1/bin/" && rmdir "$new"
}

# Runs real daemons with faults; a number of faults bounds its length. `./x soak` alone runs for
# hours.
part_soak() {
    [ "$1" ] && return
    await_early_steps
    test_step 'soak: 20 faults' soak count_exit_code timeout --foreground --kill-after=60 \
        "${HEDDLE_SOAK_TIMEOUT_S:-5400}" ./x soak --faults 20
}

# Runs Hadoop's own tests of the ResourceManager, from its published jar: with the stock schedulers
# as the control, and with Heddle over their files. On the newest Hadoop, whose tests they are.
part_hadoop-tests() {
    local class scheduler step
    [ "$1" ] && return
    rm -f "$LOGS/hadoop-tests.csv"
    queue_steps "$(grep -v '^#' integration/hadoop-tests/classes.txt | while read -r class; do
        for scheduler in stock heddle; do
            step=${class##*.}-$scheduler
            printf '%s\t' "Hadoop's ${class##*.}: $scheduler" "$step" count_closing \
                run_hadoop_test "$step"
            printf '%s\t%s\n' "$scheduler" "$class"
        done
    done)"
}

# run_hadoop_test STEP SCHEDULER CLASS: runs one of Hadoop's test classes in a JVM and a folder of
# its own. Its resources come first: another jar has a capacity-scheduler.xml as well.
run_hadoop_test() {
    local folder=build/run/$1 scheduler=$2 class=$3 libraries path outputs options=()
    rm -rf "$folder"
    mkdir -p "$folder/tmp"
    libraries=$(cat build/classpath/hadoop-tests.txt)
    mapfile -t outputs < <(outputs_of integration hadoopTests)
    path=$(printf "$ROOT/%s:" "${outputs[@]}")
    path=$path$(tr ':' '\n' <<<"$libraries" | grep 'resourcemanager-[0-9.]*-tests.jar'):$libraries
    path=$path:$ROOT/java/build/libs/heddle-$(heddle_version).jar
    [ "$scheduler" = heddle ] || options=(-Dheddle.hadoop-tests.stock=true)
    CLASSPATH=$path timeout --foreground --signal=QUIT --kill-after=30 "$CLASS_TIMEOUT_S" \
        env -C "$folder" "$JAVA_HOME/bin/java" "@$ROOT/$JVM_OPTIONS" "${SHORT_JVM_OPTIONS[@]}" \
        "${options[@]}" "-Djava.io.tmpdir=$ROOT/$folder/tmp" "-Dtest.build.data=$ROOT/$folder/tmp" \
        io.heddle.integration.hadoop.HadoopTests "$class" \
        "$ROOT/integration/hadoop-tests/expected.txt" "$ROOT/$LOGS/hadoop-tests.csv"
}

# run_tests CLASS 'VERSION...' PART...
run_tests() {
    local class=$1 versions part start=$SECONDS
    read -r -a versions <<<"$2"
    shift 2
    # Ten times as many random files for the stock schedulers and Heddle, and seeds of the swarm.
    [ ! "$TEST_ALL" ] || export HEDDLE_TEST_ALL=1
    # A clone in which nothing is compiled: what rustc notes for the next compilation costs a third
    # more. Later, cargo would compile everything again without it.
    [ -d "${CARGO_TARGET_DIR:-target}/debug/incremental" ] || export CARGO_INCREMENTAL=0
    need_build_tools
    need_rust fmt clippy
    need_packages c++:g++ shellcheck:shellcheck git:git postgresql:postgresql \
        setpriv:util-linux
    case " $* " in *' rust '*) start_compiling_tests ;; esac
    # Without jars every JVM part would fail with the same message.
    if build_everything; then
        for part in "$@"; do
            "part_$part" "$class" "${versions[@]}"
            # Not before: the tests of the scripts pack the jar again.
            case "$part $* " in
                'scripts '*' integration '*) start_class_archives "$class" "${versions[@]}" ;;
            esac
        done
    else
        record 'build' $((SECONDS - start)) 0 1 0
        for part in "$@"; do
            case $part in rust | native) "part_$part" "$class" "${versions[@]}" ;; esac
        done
    fi
    run_queued_steps
    finish_tests "$start"
}

# finish_tests START: prints the summary; returns 0 only if tests ran and all passed. Failures are
# shown once more, because of a long output often only the end is kept.
finish_tests() {
    local processor log
    # Not in a pipe: a subshell's times are its own.
    times >"$LOGS/times"
    processor=$(tr 'ms' '  ' <"$LOGS/times" |
        awk '{ s += 60 * ($1 + $3) + $2 + $4 } END { print int(s) }')
    say
    printf '%s\n' "${summary[@]}"
    # `head` closes the pipe early, which fails the writer under pipefail.
    for log in "${failed_logs[@]}"; do show_failure "$log" | head -n 30 || true; done
    say "in all $((SECONDS - $1)) s, $processor s CPU; logs in $LOGS"
    say "$total_passed passed, $total_failed failed"
    # As a class may not run on the version that was asked for.
    [ $((total_passed + total_failed)) -gt 0 ] || say 'x: no test ran' >&2
    [ $total_failed -eq 0 ] && [ $total_passed -gt 0 ]
}
