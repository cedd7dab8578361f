# shellcheck shell=bash
# Builds the native library, the jars and the class paths, and runs a main class with them. Sourced
# by x. Asks cargo and Gradle each time: they know what is up to date.

JVM_OPTIONS=scripts/jvm-options
# What lives for a minute or two is over before the optimizing compiler and a parallel collector
# pay: they would take a seventh of a mini cluster's time (measured with MapReduceTest).
SHORT_JVM_OPTIONS=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC)

# Prints the options of every JVM. Java 8 reads no file of options and has no modules to open.
jvm_options() {
    if [ ! -f "$JAVA_HOME/lib/modules" ]; then
        grep -v '^#\|^--add-opens' "$ROOT/$JVM_OPTIONS"
    else
        echo "@$ROOT/$JVM_OPTIONS"
    fi
}

run_gradle() {
    # No daemon: ./x leaves no process behind. Plain output, because it goes to a log. It lives for
    # seconds, like a mini cluster's JVMs.
    GRADLE_OPTS="${GRADLE_OPTS:-} ${SHORT_JVM_OPTIONS[*]}" gradle --no-daemon --console=plain "$@"
}

build_native() {
    scripts/native-library ${HEDDLE_ALL_PLATFORMS:+--all-platforms} ${HEDDLE_MUSL:+--musl} \
        ${HEDDLE_HOST_LIBC:+--host-libc}
}

build_command_line() { cargo build --release --locked -p heddle-cli; }

# The command line for tests, target/debug/heddle: its own tests have cargo build it. `cargo build`
# would compile all crates again, with other features than `cargo test --workspace`. After all tests
# were compiled, all are asked for: for one alone, cargo compiles the bridge and what uses it again.
build_tests_command_line() {
    local one=(--test command)
    [ ! "${tests_compiled:-}" ] || one=()
    cargo test --workspace --locked --no-run "${one[@]}"
}

build_laboratory() { cargo build --release --locked -p heddle-lab; }

# command_line [NAME]: the path of heddle, or of the program NAME, in cargo's folder.
command_line() { printf '%s/release/%s' "${CARGO_TARGET_DIR:-$ROOT/target}" "${1:-heddle}"; }

build_jars() {
    run_gradle -x nativeLibrary jar testClasses hadoopTestsClasses classPaths && make_front_jars
}

build_everything() {
    need_build_tools
    step 'native library' native build_native || return
    step 'jars and class paths (Gradle)' gradle build_jars
}

# class_path_of HADOOP OUTPUT...: prints Hadoop, Heddle's jar, then the compiled classes in OUTPUT.
# A class archive needs Hadoop first.
class_path_of() {
    local hadoop=$1 output path
    shift
    path=$(hadoop_class_path "$hadoop")
    path=$path:$ROOT/java/build/libs/heddle-$(heddle_version).jar
    for output in "$@"; do path=$path:$ROOT/$output; done
    printf '%s' "$path"
}

# --- The front jar ------------------------------------------------------------------------------
# To find its pages, a web server of Hadoop reads the whole jar that has them: 15 MB for each daemon
# of HDFS. Each new Configuration parses the defaults with their descriptions: some ten times for a
# task, twice for a container. A jar in front of Hadoop's has the pages, and the defaults without
# descriptions: DynamicPriorityTest takes 79 processor seconds with it, 88 without.

# cached_file HADOOP SUFFIX: prints the path of what is made of the files that its input describes.
# It depends on nothing else, so all clones of a user share it.
cached_file() {
    local key
    key=$(sha256sum)
    printf '%s/classes/hadoop-%s-%s%s' \
        "${HEDDLE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/heddle/tools}" "$1" "${key:0:16}" "$2"
}

# Prints the published jars, one a line.
hadoop_jars() { tr ':' '\n' <"build/classpath/hadoop-$1.txt"; }

front_jar() {
    {
        hadoop_jars "$1" | xargs stat -c '%n %s %Y'
        declare -f make_front_jar unpack_pages_and_defaults
    } | cached_file "$1" -front.jar
}

hadoop_class_path() { printf '%s:%s' "$(front_jar "$1")" "$(cat "build/classpath/hadoop-$1.txt")"; }

make_front_jars() {
    local hadoop
    for hadoop in "${HADOOP_VERSIONS[@]}"; do
        [ -f "$(front_jar "$hadoop")" ] || make_front_jar "$hadoop" || return
    done
}

make_front_jar() {
    local folder=$ROOT/build/run/front-$1 to
    to=$(front_jar "$1")
    rm -rf "$folder"
    mkdir -p "$folder" "${to%/*}"
    unpack_pages_and_defaults "$1" "$folder" \
        && perl -0777 -pi -e 's/<!--.*?-->|<description>.*?<\/description>//gs' "$folder"/*.xml \
        && "$JAVA_HOME/bin/jar" --create --no-manifest --no-compress --file "$folder.jar" \
            -C "$folder" . || return
    rm -rf "$folder" "${to%/*}/hadoop-$1"-*-front.jar
    mv "$folder.jar" "$to"
}

# unpack_pages_and_defaults HADOOP FOLDER: the last jar first, so that files of the first stay.
unpack_pages_and_defaults() {
    local jar code
    hadoop_jars "$1" | grep '/hadoop-[^/]*$' | tac | while read -r jar; do
        code=0
        unzip -q -o "$jar" 'webapps/*' '*-default.xml' -d "$2" || code=$?
        # 11: a jar that has none of these.
        [ $code -eq 0 ] || [ $code -eq 11 ] || return $code
    done
}

# --- Class archives -----------------------------------------------------------------------------
# A JVM of Hadoop parses and verifies thousands of classes from hundreds of jars when it starts, and
# a mini cluster starts dozens of JVMs. An archive (class data sharing) has the classes ready:
# MapReduceTest takes 48 processor seconds with it, 60 without.

# class_archive HADOOP: prints the archive's path.
class_archive() {
    {
        hadoop_class_path "$1" | tr ':' '\n' | xargs stat -c '%n %s %Y'
        "$JAVA_HOME/bin/java" -version 2>&1
    } | cached_file "$1" .jsa
}

# archive_options HADOOP CLASS_PATH FILE: prints the options that make a JVM and the tasks of its
# mini cluster use the archive, if there is one; the tasks' are in FILE. With CLASS_LISTS, a folder,
# they list their classes there.
archive_options() {
    local archive options tasks=$ROOT/$3
    archive=$(class_archive "$1")
    if [ "${CLASS_LISTS:-}" ]; then
        options=("-XX:DumpLoadedClassList=$CLASS_LISTS/%p.txt")
    elif [ -f "$archive" ]; then
        # Not -XX:ArchiveRelocationMode=0, which saves correcting its pointers: JDK 17 then crashes
        # when it links classes of old compilers, such as those of netty 3 in Hadoop 3.3.6.
        options=("-XX:SharedArchiveFile=$archive")
    else
        return 0
    fi
    # YARN would put the container's folder first, where an archive allows jars only.
    printf '%s\n' "${options[@]}" "-cp $2:." >"$tasks"
    printf '%s\n' "${options[@]}" "-Dheddle.integration.task-options=@$tasks"
}

# make_class_archive HADOOP COMMAND...: COMMAND runs a cluster with a job and lists the classes.
# Fails if COMMAND does: without an archive, JVMs only start more slowly.
make_class_archive() {
    local lists=$ROOT/build/run/class-lists-$1
    rm -rf "$lists"
    mkdir -p "$lists"
    local code=0
    CLASS_LISTS=$lists "${@:2}" || code=$?
    [ $code -ne 0 ] || dump_class_archive "$1" "$lists" || echo "no class archive for Hadoop $1"
    rm -rf "$lists"
    return $code
}

# dump_class_archive HADOOP LISTS
dump_class_archive() {
    local hadoop=$1 lists=$2 archive
    archive=$(class_archive "$hadoop")
    mkdir -p "${archive%/*}"
    cat "$lists"/*.txt | grep -vE '^#|source:|io/heddle/|io\.heddle\.' | sed 's/ id: .*//' \
        | awk '!seen[$0]++' >"$lists/all"
    "$JAVA_HOME/bin/java" -Xshare:dump -XX:SharedClassListFile="$lists/all" -Xlog:cds=error \
        -XX:SharedArchiveFile="$lists/new.jsa" -cp "$(hadoop_class_path "$hadoop")" \
        || return
    rm -f "${archive%/*}/hadoop-$hadoop"-*.jsa
    mv "$lists/new.jsa" "$archive"
}

# Prints the folders of a subproject's compiled classes and resources.
outputs_of() { printf '%s\n' "$1/build/classes/java/$2" "$1/build/resources/$2"; }

# run_main CLASS FOLDER HADOOP ARGUMENT...: runs a program of integration/ in FOLDER; does not
# return.
run_main() {
    local class=$1 folder=$2 hadoop=$3 outputs options
    shift 3
    mapfile -t outputs < <(outputs_of integration main)
    mkdir -p "$folder"
    CLASSPATH=$(class_path_of "$hadoop" "${outputs[@]}")
    export CLASSPATH
    mkdir -p build/run
    mapfile -t options < <(jvm_options
        archive_options "$hadoop" "$CLASSPATH" "build/run/tasks-$class.txt")
    cd "$folder" || return
    exec "$JAVA_HOME/bin/java" "${options[@]}" "$class" "$@"
}
