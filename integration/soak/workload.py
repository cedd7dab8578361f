"""A constant load of jobs: MapReduce and Spark, each a word count over files in HDFS with a known
result. A job counts from the moment when a ResourceManager accepts it.
"""

import collections
import json
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from cluster import ATTEMPTS, JVM, USERS, Unreachable, get, get_json

WORDS = "warp weft shuttle heddle reed loom".split()
LINE = " ".join(WORDS) + "\n"
BLOCK = 1 << 20
# A submission without an answer by then has failed; jobs that the cluster has still count.
ANSWER_PATIENCE = 300
FINAL = ("FINISHED", "FAILED", "KILLED")


@dataclass
class Job:
    """One job and its fate."""

    name: str
    kind: str
    user: str
    preset: str
    maps: int
    made: float = field(default_factory=time.monotonic)
    application: str = ""
    state: str = "submitting"
    final: str = ""
    seconds: float = 0.0
    wrong: str = ""

    def over(self):
        """Whether its state is final."""
        return self.state == "refused" or self.state in FINAL

    def lost(self):
        """Whether it was accepted and has not succeeded (in time, once the run is over)."""
        return bool(self.application) and (self.final != "SUCCEEDED" or bool(self.wrong))


class Workload:
    """Keeps a number of jobs running, and follows them by REST."""

    def __init__(self, cluster, random, spark, mapreduce_jobs=3, spark_jobs=1):
        self.cluster, self.random, self.spark = cluster, random, Path(spark)
        self.wanted = {"mapreduce": mapreduce_jobs, "spark": spark_jobs}
        self.jobs, self.clients = {}, {}
        self.lines = collections.deque()
        self.submitter = None

    def start(self):
        """Puts the input into HDFS and starts the client for MapReduce."""
        hdfs = f"http://127.0.0.1:{self.cluster.web_port}/webhdfs/v1"
        self.hdfs = hdfs
        for maps in range(1, 7):
            text = (LINE * (maps * BLOCK // len(LINE))).encode()
            request = urllib.request.Request(
                f"{hdfs}/input/{maps}?op=CREATE&overwrite=true&noredirect=true", method="PUT")
            with urllib.request.urlopen(request, timeout=60) as answer:
                place = json.load(answer)["Location"]
            request = urllib.request.Request(
                place, data=text, method="PUT",
                headers={"Content-Type": "application/octet-stream"})
            urllib.request.urlopen(request, timeout=60).close()
        conf = self.cluster.folder / "conf/client"
        self._start_submitter(conf)

    def _start_submitter(self, conf):
        with open(self.cluster.logs / "submitter.log", "ab") as log:
            self.submitter = subprocess.Popen(
                self.cluster.java(256, "submitter", "io.heddle.integration.soak.Submitter"),
                env=self.cluster.environment(conf), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, start_new_session=True)
        threading.Thread(target=self._read, args=(self.submitter.stdout,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self.lines.append(line)

    def running(self):
        """Jobs that have not ended."""
        return [job for job in self.jobs.values() if not job.over()]

    # --- submission ---------------------------------------------------------------------------

    def keep_busy(self, preset):
        """Submits missing jobs."""
        counts = collections.Counter(job.kind for job in self.running())
        for kind, wanted in self.wanted.items():
            for _ in range(wanted - counts[kind]):
                name = f"{kind}-{len(self.jobs) + 1}"
                job = Job(name, kind, self.random.choice(USERS), preset,
                          self.random.randint(1, 6))
                self.jobs[name] = job
                getattr(self, f"_submit_{kind}")(job)

    def _submit_mapreduce(self, job):
        pause = self.random.choice((1000, 3000, 8000))
        self.submitter.stdin.write(
            f"{job.user} {job.name} /input/{job.maps} /output/{job.name} 1 {pause}\n")
        self.submitter.stdin.flush()

    def _submit_spark(self, job):
        conf = self.cluster.folder / "conf/client"
        home = next(self.spark.glob("lib/python3*/site-packages/pyspark"))
        python = str(self.spark / "bin/python")
        settings = {
            "spark.yarn.submit.waitAppCompletion": "false",
            "spark.yarn.maxAppAttempts": ATTEMPTS,
            "spark.executor.maxNumFailures": 1000,
            "spark.task.maxFailures": 20,
            # The nodes are this machine: uploading 300 MB for each job is unnecessary.
            "spark.yarn.jars": f"local:{home}/jars/*",
            "spark.executor.instances": 2,
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "256m",
            "spark.driver.memory": "512m",
            "spark.driver.memoryOverhead": "256m",
            "spark.ui.enabled": "false",
            "spark.driver.extraJavaOptions": JVM,
            "spark.executor.extraJavaOptions": JVM,
            "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
            "spark.yarn.appMasterEnv.PYSPARK_PYTHON": python,
            "spark.executorEnv.PYSPARK_PYTHON": python,
        }
        command = [home / "bin/spark-submit", "--master", "yarn", "--deploy-mode", "cluster",
                   "--name", job.name, "--queue", job.user]
        for key, value in settings.items():
            command += ["--conf", f"{key}={value}"]
        command += [Path(__file__).with_name("spark_words.py"), f"/input/{job.maps}",
                    str(self._expected(job)), str(self.random.choice((2, 5, 10)))]
        environment = {**self.cluster.environment(conf), "HADOOP_USER_NAME": job.user,
                       "SPARK_HOME": str(home), "PYSPARK_PYTHON": python,
                       "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SUBMIT_OPTS": JVM}
        # Spark brings its own Hadoop client.
        del environment["CLASSPATH"]
        log = self.cluster.logs / f"{job.name}.log"
        with open(log, "wb") as output:
            self.clients[job.name] = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)

    def _expected(self, job):
        return job.maps * BLOCK // len(LINE)

    # --- following ----------------------------------------------------------------------------

    def follow(self):
        """Reads answers of clients and the states from the active ResourceManager."""
        while self.lines:
            self._answered(self.lines.popleft().split(" ", 2))
        for name, client in list(self.clients.items()):
            if client.poll() is None:
                continue
            del self.clients[name]
            text = (self.cluster.logs / f"{name}.log").read_text(errors="replace")
            _, said, rest = text.partition("Submitted application ")
            answer = "submitted" if said else "refused"
            self._answered([answer, name, rest.split()[0] if said else "see its log"])
        self._take_states()
        for job in self.running():
            if not job.application and time.monotonic() - job.made > ANSWER_PATIENCE:
                job.state = "refused"

    def _answered(self, words):
        job = self.jobs.get(words[1]) if len(words) == 3 else None
        if job is None:
            return
        if words[0] == "submitted":
            job.application, job.state = words[2].strip(), "submitted"
        elif words[0] == "refused" and not job.application:
            job.state = "refused"

    def _take_states(self):
        try:
            apps = self.cluster.ask("/ws/v1/cluster/apps")["apps"] or {}
        except (Unreachable, KeyError):
            return
        for app in apps.get("app", []):
            job = self.jobs.get(app["name"])
            if job is None or job.state in FINAL:
                continue
            # Its client may have failed after the ResourceManager had accepted the job.
            job.application = job.application or app["id"]
            if job.application != app["id"]:
                continue
            job.state, job.final = app["state"], app["finalStatus"]
            if job.state in FINAL:
                job.seconds = app["elapsedTime"] / 1000
                if job.kind == "mapreduce" and job.final == "SUCCEEDED":
                    job.wrong = self._wrong_result(job)
                if job.final != "SUCCEEDED":
                    job.wrong = app.get("diagnostics", "").strip()[:500]

    def history(self, job):
        """The lines of a finished MapReduce job's history; None if it left none."""
        name = job.application.replace("application_", "job_") + "-"
        try:
            for file in self._list(f"/history/{job.user}"):
                if file.startswith(name) and file.endswith(".jhist"):
                    return self._read_file(f"/history/{job.user}/{file}").splitlines()
        except (Unreachable, KeyError):
            pass
        return None

    def _list(self, folder):
        listed = get_json(f"{self.hdfs}{urllib.parse.quote(folder)}?op=LISTSTATUS", 30)
        return [file["pathSuffix"] for file in listed["FileStatuses"]["FileStatus"]]

    def _read_file(self, path):
        return get(f"{self.hdfs}{urllib.parse.quote(path)}?op=OPEN", 30).decode(errors="replace")

    def _wrong_result(self, job):
        """Says what is wrong with the output of a word count; empty if it is right."""
        counts = {}
        try:
            for file in self._list(f"/output/{job.name}"):
                if not file.startswith("part-"):
                    continue
                for line in self._read_file(f"/output/{job.name}/{file}").splitlines():
                    word, count = line.split("\t")
                    counts[word] = counts.get(word, 0) + int(count)
        except (Unreachable, ValueError, KeyError) as error:
            return f"its output cannot be read: {error}"
        expected = {word: self._expected(job) for word in WORDS}
        return "" if counts == expected else f"it counted {counts}, expected {expected}"

    def stop(self):
        """Ends submissions."""
        if self.submitter:
            self.submitter.stdin.close()
