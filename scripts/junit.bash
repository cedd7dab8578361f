# shellcheck shell=bash
# JVM tests of ./x test: which classes there are, on which Hadoop each runs, which share a JVM, and
# how a JVM runs them. Sourced by x, before test.bash.

# The test classes of a JVM take two to eight minutes, seventeen beside six busy loops; what takes
# far longer hangs.
CLASS_TIMEOUT_S=${HEDDLE_CLASS_TIMEOUT_S:-3600}
# Steps whose test classes run in one JVM, one after the other: the first mini cluster of a JVM
# loads and compiles classes, which costs some seven seconds of processor time. A class that changes
# a JVM for good, such as PrometheusTest with its metrics, has one of its own.
SHARED_JVMS='
jobs: AdministrationTest FailoverTest MapReduceTest TezTest TeraSortTest
fair: FairTest TypedSlotsTest
market: DynamicPriorityTest CompositionTest VictimsTest
sizes: HfspTest ReverseAdaptiveTest HeadroomTest
racks: LinksTest ShuffleWatcherTest
tenants: FaultsTest FirstDayTest TenantsTest LabelsTest PlacementTest ForeignLoadTest
change: SwitchTest ShadowTest ControlRoomTest RecordingTest
pages: CapacityInfoTest CommandsTest SubmissionTest WebTest SchedulerConfTest ApplyTest EconomyTest
console: ConsoleTest ConsoleJobsTest ConsoleViewTest ConsoleFailoverTest
'

# Lists the test classes of a subproject by file name; $2 names one, with or without its package.
test_classes() {
    find "$1/src/test/java" -name '*Test.java' 2>/dev/null | LC_ALL=C sort | while read -r file; do
        grep -q '^public abstract class\|^abstract class' "$file" && continue
        file=${file#"$1"/src/test/java/}
        file=${file%.java}
        file=${file//\//.}
        case "$2" in '' | "$file" | "${file##*.}") printf '%s\n' "$file" ;; esac
    done
}

# runs_on PROJECT CLASS HADOOP [WANTED]: whether a test class runs on this version. A class in which
# nothing depends on the version says "Newest Hadoop only" in its comment; `--all` runs it on every
# version. A class that says "with --all only" runs nowhere else. Both do not hold for a class that
# was asked for by its name, WANTED. One that says "on no older one" runs on the newest alone,
# whatever was asked for, and one that says "not on 3.3.6" on the others.
runs_on() {
    local comment
    # The words may stand on two lines.
    comment=$(grep -E '^(/\*\*| \*|//)' "$1/src/test/java/${2//.//}.java" | tr -s '\n */' ' ')
    if [ "$3" != "$NEWEST_HADOOP" ] && grep -q '\bon no older one\b' <<<"$comment"; then
        return 1
    fi
    if grep -qi "\bnot on ${3//./\\.}\b" <<<"$comment"; then return 1; fi
    if [ "$TEST_ALL" ] || [ "${4:-}" ]; then return 0; fi
    if grep -q '\bwith --all only\b' <<<"$comment"; then return 1; fi
    [ "$3" = "$NEWEST_HADOOP" ] || ! grep -q '\bNewest Hadoop only\b' <<<"$comment"
}

# for_version PROJECT HADOOP WANTED CLASS...: prints the classes that run on this version. WANTED is
# the name of the class that was asked for, or empty.
for_version() {
    local project=$1 hadoop=$2 wanted=$3 name
    shift 3
    for name in "$@"; do
        if runs_on "$project" "$name" "$hadoop" "$wanted"; then printf '%s\n' "$name"; fi
    done
}

# run_junit PROJECT HADOOP NAME CLASS...: runs one JVM in a folder of its own, because mini clusters
# write a `target` into the current one. A JVM that hangs prints its threads (SIGQUIT) before it is
# ended.
run_junit() {
    local project=$1 hadoop=$2 name=$3 folder outputs path options code=0
    shift 3
    folder=build/run/$name
    rm -rf "$folder"
    mkdir -p "$folder/tmp" "$folder/logs"
    mapfile -t outputs < <(outputs_of "$project" test)
    if [ "$project" = integration ]; then
        mapfile -t -O ${#outputs[@]} outputs < <(outputs_of integration main)
        # For the main class.
        outputs+=(java/build/classes/java/test)
    fi
    path=$(class_path_of "$hadoop" "${outputs[@]}")
    mapfile -t options < <(jvm_options; archive_options "$hadoop" "$path" "$folder/tasks.txt")
    # The shim's own tests repeat much, and would take twice as long with these options.
    [ "$project" != integration ] || options+=("${SHORT_JVM_OPTIONS[@]}")
    [ ! "${test_library:-}" ] || options+=("-Dheddle.native.path=$test_library")
    # A JVM that dies says nothing about those that it did not reach.
    printf 'x: runs %s\n' "$@"
    CLASSPATH=$path \
        timeout --foreground --signal=QUIT --kill-after=30 "$CLASS_TIMEOUT_S" \
        env -C "$folder" "$JAVA_HOME/bin/java" "${options[@]}" \
        -Xcheck:jni -ea:io.heddle... \
        "-Djava.io.tmpdir=$ROOT/$folder/tmp" "-Dheddle.integration.logs=$ROOT/$folder/logs" \
        "-XX:ErrorFile=$ROOT/$LOGS/hs_err_%p.log" \
        io.heddle.yarn.OneKeyPair "$@" || code=$?
    jni_warnings "$LOGS/$name.log" || code=1
    # Kept after a failure for its files; a mini cluster leaves some hundred megabytes.
    [ $code -ne 0 ] || rm -rf "$folder"
    return $code
}

# step_of NAME CLASS: prints the step in which a live test class runs: its own name if it is in none
# of SHARED_JVMS, or if that CLASS was asked for.
step_of() {
    local short=${1##*.} step=
    [ "$2" ] || step=$(sed -n "s/^\([a-z]*\):.* $short\( .*\)\?\$/\1/p" <<<"$SHARED_JVMS")
    printf '%s' "${step:-$short}"
}

# live_steps HADOOP: reads lines of a step and its class; prints a step for queue_steps, which runs
# all of its classes.
live_steps() {
    awk -v hadoop="$1" -v OFS='\t' '
        !($1 in classes) { steps[++count] = $1 }
        { classes[$1] = classes[$1] OFS $2 }
        END { for (i = 1; i <= count; i++) { step = steps[i]; name = step "-" hadoop
                  print step ": Hadoop " hadoop, name, "count_junit", "run_junit", "integration",
                      hadoop, name classes[step] } }'
}

# Prints the findings of -Xcheck:jni, with the prefix that count_junit and show_failure look for.
# One whose first frame is another library's (leveldbjni, under one of YARN's stores) is not ours.
jni_warnings() {
    local found
    found=$(awk '/(WARNING|FATAL ERROR) in native method|WARNING: JNI local refs/ {
                     held = NR ":" $0; rest = 6; next }
                 held { foreign = /^\tat / && !/^\tat io\.heddle\./
                        if (!foreign) print held "\n" NR "-" $0
                        else rest = 0
                        held = ""; next }
                 rest-- > 1 { print NR "-" $0 }
                 END { if (held) print held }' "$1")
    [ "$found" ] || return 0
    head -n 60 <<<"$found" | sed 's/^/JNI: /'
    return 1
}
