"""A cluster of separate processes on loopback addresses: ZooKeeper, HDFS, two ResourceManagers in
HA, NodeManagers with work-preserving restart, and PostgreSQL for the accounts.

Hadoop is the installation that scripts/hadoop-home makes from published jars. Policies appear
only in the text of heddle.json; nothing here knows what a policy does.
"""

import json
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from xml.sax.saxutils import escape

from processes import Daemon, free_port

ROOT = Path(__file__).resolve().parents[2]
USERS = ("alice", "bob", "carol")
RACKS = {"127.0.1.21": "/rack1", "127.0.1.22": "/rack1", "127.0.2.21": "/rack2"}
NODE_MB, NODE_VCORES = 3072, 6
# Tasks live for seconds: an optimizing compiler and a parallel collector cost more than they save.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
TASK_JVM = JVM + " -Xmx200m --add-opens=java.base/java.lang=ALL-UNNAMED"
# More than a run kills: a killed ApplicationMaster must not use up a job's attempts.
ATTEMPTS = 100
PASSWORD = "of a database on loopback"
# The election of the active ResourceManager reads the older names.
ZOOKEEPER = ("hadoop.zk.", "yarn.resourcemanager.zk-")
MAIN = {
    "zookeeper": "org.apache.zookeeper.server.quorum.QuorumPeerMain",
    "namenode": "org.apache.hadoop.hdfs.server.namenode.NameNode",
    "datanode": "org.apache.hadoop.hdfs.server.datanode.DataNode",
    "rm": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
    "nm": "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
}


class Unreachable(Exception):
    """A server did not answer, or answered wrongly."""


def get(url, timeout=5):
    """Reads the bytes at an address."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.read()
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise Unreachable(f"{url}: {error}") from error


def get_json(url, timeout=5):
    """Reads the JSON at an address. A standby that knows no active one redirects to text."""
    try:
        return json.loads(get(url, timeout))
    except ValueError as error:
        raise Unreachable(f"{url}: no JSON") from error


def wait_until(what, condition, patience):
    """Asks until it is true. TimeoutError names what did not come."""
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"{what}: not within {patience:.0f} s")
        time.sleep(0.3)


class Cluster:
    """Keeps all files in one work folder, and uses ports that were free at the start."""

    def __init__(self, folder, hadoop, random):
        self.folder, self.logs = Path(folder), Path(folder) / "logs"
        self.home = self.folder / "hadoop"
        self.logs.mkdir(parents=True)
        subprocess.run([ROOT / "scripts/hadoop-home", self.home, hadoop], check=True,
                       stdout=subprocess.DEVNULL)
        version = (ROOT / "Cargo.toml").read_text().split('\nversion = "')[1].split('"')[0]
        # Copies: a build beside a long run must not change it.
        shutil.copy(ROOT / f"java/build/libs/heddle-{version}.jar",
                    self.home / "share/hadoop/yarn/lib")
        jobs = ROOT / f"integration/build/libs/heddle-integration-{version}.jar"
        self.jobs_jar = shutil.copy(jobs, self.folder)
        self.command = shutil.copy(
            Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/heddle",
            self.folder)
        # The distribution has HDFS's web pages as a folder; of the jars, this one has them.
        jars = (ROOT / f"build/classpath/hadoop-{hadoop}.txt").read_text().strip().split(":")
        self.pages_jar = next(jar for jar in jars if jar.endswith(f"hdfs-{hadoop}-tests.jar"))
        taken = set()
        self.port = lambda: free_port(random, taken)
        self.zookeeper_port, self.namenode_port, self.web_port = (self.port() for _ in range(3))
        self.database_port = self.port()
        self.daemons, self.web = {}, {}
        self.database_folder = None
        self.heddle_json = self.folder / "heddle.json"
        self.acl, self.secret = self.folder / "heddle.acl", self.folder / "operator.secret"
        self._configure()

    # --- configuration ------------------------------------------------------------------------

    def _configure(self):
        common = self._common()
        for rm in ("rm1", "rm2"):
            for service in ("address", "scheduler.address", "resource-tracker.address",
                            "admin.address", "webapp.address"):
                address = f"127.0.0.1:{self.port()}"
                common[f"yarn.resourcemanager.{service}.{rm}"] = address
            self.web[rm] = f"http://{address}"
        self.common = common
        self._conf("client", {})
        for rm in ("rm1", "rm2"):
            self._java(rm, MAIN["rm"], 512, {"yarn.resourcemanager.ha.id": rm})
        for number, host in enumerate(RACKS, 1):
            self._node(f"nm{number}", host)
        self._java("namenode", MAIN["namenode"], 256, {})
        host = next(iter(RACKS))
        self._java("datanode", MAIN["datanode"], 256, {
            "dfs.datanode.hostname": host,
            **{f"dfs.datanode.{kind}.address": f"{host}:{self.port()}" for kind in ("http", "ipc")},
            "dfs.datanode.address": f"{host}:{self.port()}"})
        quorum = self.folder / "zookeeper.cfg"
        quorum.write_text(
            f"tickTime=500\ndataDir={self.folder}/zookeeper\nclientPort={self.zookeeper_port}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n")
        self._java("zookeeper", MAIN["zookeeper"], 128, {}, str(quorum))

    def _common(self):
        path = ",".join(f"{self.home}/share/hadoop/{folder}/*" for folder in (
            "common", "common/lib", "hdfs", "yarn", "yarn/lib"))
        table = self.folder / "racks"
        table.write_text("".join(f"{host} {rack}\n" for host, rack in RACKS.items()))
        return {
            "fs.defaultFS": f"hdfs://127.0.0.1:{self.namenode_port}",
            "hadoop.tmp.dir": f"{self.folder}/tmp",
            "net.topology.node.switch.mapping.impl": "org.apache.hadoop.net.TableMapping",
            "net.topology.table.file.name": table,
            "hadoop.security.group.mapping": "org.apache.hadoop.security.NullGroupsMapping",
            "dfs.namenode.http-address": f"127.0.0.1:{self.web_port}",
            "dfs.permissions.enabled": False,
            "fs.permissions.umask-mode": "000",
            "dfs.replication": 1,
            "dfs.blocksize": 1 << 20,
            # There is no other DataNode to replace it with.
            "dfs.client.block.write.replace-datanode-on-failure.enable": False,
            # All connections come from 127.0.0.1: only the host name tells the DataNode's address.
            "dfs.client.use.datanode.hostname": True,
            **{f"{prefix}address": f"127.0.0.1:{self.zookeeper_port}" for prefix in ZOOKEEPER},
            # How long ZooKeeper takes a killed ResourceManager for active.
            **{f"{prefix}timeout-ms": 4000 for prefix in ZOOKEEPER},
            # By default a ResourceManager leaves the election for good after three failures. One
            # that starts while ZooKeeper is down would never become active.
            "yarn.resourcemanager.ha.failover-controller.active-standby-elector.zk.retries": 1000,
            "yarn.resourcemanager.ha.enabled": True,
            "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
            "yarn.resourcemanager.cluster-id": "soak",
            "yarn.resourcemanager.recovery.enabled": True,
            "yarn.resourcemanager.store.class":
                "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
            "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": 2000,
            "yarn.resourcemanager.connect.retry-interval.ms": 1000,
            "yarn.client.failover-sleep-base-ms": 200,
            "yarn.client.failover-sleep-max-ms": 1000,
            "yarn.client.failover-max-attempts": 1000,
            "yarn.resourcemanager.am.max-attempts": ATTEMPTS,
            "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": 500,
            "yarn.scheduler.minimum-allocation-mb": 256,
            "yarn.scheduler.maximum-allocation-mb": NODE_MB,
            "yarn.scheduler.maximum-allocation-vcores": NODE_VCORES,
            "yarn.resourcemanager.scheduler.class": "io.heddle.yarn.HeddleScheduler",
            "heddle.config.file": self.heddle_json,
            # All nodes are one machine: each would count the others' containers as foreign load.
            "heddle.node-load.enable": False,
            "yarn.application.classpath": path,
            "yarn.node-attribute.fs-store.root-dir": f"file://{self.folder}/attributes",
            "mapreduce.framework.name": "yarn",
            "mapreduce.application.classpath": f"{self.home}/share/hadoop/mapreduce/*",
            "yarn.app.mapreduce.am.staging-dir": "/staging",
            # Lines of JSON, which the verdict on repeated tasks counts.
            "mapreduce.jobhistory.intermediate-done-dir": "/history",
            "mapreduce.jobhistory.jhist.format": "json",
            # The older commit cannot be repeated: a kill in the middle of one would fail the job.
            "mapreduce.fileoutputcommitter.algorithm.version": 2,
            "mapreduce.am.max-attempts": ATTEMPTS,
            "mapreduce.job.ubertask.enable": False,
            "mapreduce.map.speculative": False,
            "mapreduce.reduce.speculative": False,
            "mapreduce.task.io.sort.mb": 16,
            # NodeManagers return within a minute: a reduce waits for theirs, and maps stay done.
            "mapreduce.reduce.shuffle.fetch.retry.enabled": True,
            "mapreduce.reduce.shuffle.fetch.retry.timeout-ms": 180_000,
            **{f"{task}.memory-mb": 512 for task in ("mapreduce.map", "mapreduce.reduce")},
            "yarn.app.mapreduce.am.resource.mb": 512,
            **{f"{task}.java.opts": TASK_JVM for task in ("mapreduce.map", "mapreduce.reduce")},
            "yarn.app.mapreduce.am.command-opts": TASK_JVM,
        }

    def _node(self, name, host):
        work = self.folder / name
        self._java(name, MAIN["nm"], 384, {
            **{f"yarn.nodemanager.{service}": f"{host}:{self.port()}" for service in (
                "address", "localizer.address", "webapp.address",
                "collector-service.address", "amrmproxy.address")},
            "yarn.nodemanager.hostname": host,
            "yarn.nodemanager.bind-host": host,
            "yarn.nodemanager.resource.memory-mb": NODE_MB,
            "yarn.nodemanager.resource.cpu-vcores": NODE_VCORES,
            "yarn.nodemanager.local-dirs": work / "local",
            "yarn.nodemanager.log-dirs": work / "logs",
            "yarn.nodemanager.recovery.enabled": True,
            "yarn.nodemanager.recovery.supervised": True,
            "yarn.nodemanager.recovery.dir": work / "recovery",
            "yarn.nodemanager.aux-services": "mapreduce_shuffle",
            "mapreduce.shuffle.port": self.port(),
            "yarn.nodemanager.pmem-check-enabled": False,
            "yarn.nodemanager.vmem-check-enabled": False,
            "yarn.nodemanager.disk-health-checker.enable": False,
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
            "yarn.nodemanager.log.retain-seconds": 86_400,
        })

    def _conf(self, name, properties):
        folder = self.folder / "conf" / name
        folder.mkdir(parents=True)
        shutil.copy(self.home / "etc/hadoop/log4j.properties", folder)
        lines = ["<configuration>"]
        for key, value in {**self.common, **properties}.items():
            value = str(value).lower() if isinstance(value, bool) else escape(str(value))
            lines.append(f"<property><name>{key}</name><value>{value}</value></property>")
        lines.append("</configuration>")
        # Defaults of HDFS, YARN and MapReduce are read after core-site.xml and would override it.
        for site in ("core", "hdfs", "yarn", "mapred"):
            (folder / f"{site}-site.xml").write_text("\n".join(lines) + "\n")
        return folder

    def environment(self, conf):
        """The environment in which Hadoop's programs find their installation."""
        home = str(self.home)
        kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME", "HOME", "LANG")
                if key in os.environ}
        return {**kept, "HADOOP_HOME": home, "HADOOP_COMMON_HOME": home,
                "HADOOP_HDFS_HOME": home, "HADOOP_YARN_HOME": home, "HADOOP_MAPRED_HOME": home,
                "HADOOP_CONF_DIR": str(conf), "YARN_CONF_DIR": str(conf),
                "CLASSPATH": ":".join([str(conf)] + [
                    f"{home}/share/hadoop/{folder}/*" for folder in (
                        "common", "common/lib", "hdfs", "yarn", "yarn/lib", "mapreduce")]
                    + [str(self.jobs_jar), self.pages_jar])}

    def java(self, heap_mb, name, main, *arguments):
        """Returns the command line for one of Hadoop's classes."""
        return [os.path.join(os.environ["JAVA_HOME"], "bin/java"), f"@{ROOT}/scripts/jvm-options",
                *JVM.split(), f"-Xmx{heap_mb}m", f"-Dsoak.daemon={name}",
                f"-Dhadoop.log.dir={self.logs}", f"-Dyarn.log.dir={self.logs}",
                main, *arguments]

    def _java(self, name, main, heap_mb, properties, *arguments):
        conf = self._conf(name, properties)
        self.daemons[name] = Daemon(name, self.java(heap_mb, name, main, *arguments),
                                    self.environment(conf), self.logs / f"{name}.log")

    # --- PostgreSQL ---------------------------------------------------------------------------

    def _postgres(self, program, *arguments):
        """PostgreSQL refuses to run as root; it runs as the user that Debian made for it."""
        versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
        newest = max(versions, key=lambda path: int(path.parts[-3])).parent
        user = ["--reuid=postgres", "--regid=postgres", "--init-groups"]
        return ["setpriv", *(user if os.getuid() == 0 else []), "--", newest / program, *arguments]

    def make_database(self):
        """Makes a new, empty server in a folder that its own user can reach; does not start it."""
        folder = self.database_folder = Path(tempfile.mkdtemp(prefix="heddle-soak-"))
        (folder / "password").write_text(PASSWORD)
        if os.getuid() == 0:
            user = pwd.getpwnam("postgres")
            for path in (folder, folder / "password"):
                os.chown(path, user.pw_uid, user.pw_gid)
        with open(self.logs / "database.log", "ab") as log:
            subprocess.run(self._postgres(
                "initdb", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8",
                "-U", "heddle", "--pwfile", folder / "password", "-D", folder / "data"),
                check=True, stdout=log, stderr=log, cwd="/")
        self.daemons["database"] = Daemon("database", self._postgres(
            "postgres", "-D", folder / "data", "-p", str(self.database_port),
            "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="),
            {"PATH": os.environ["PATH"]}, self.logs / "database.log")

    def sql(self, statement, database="heddle"):
        """Returns the rows of an answer as tuples of text."""
        done = subprocess.run(
            self._postgres("psql", "-X", "-A", "-t", "-F", "\t", "-h", "127.0.0.1", "-p",
                           str(self.database_port), "-U", "heddle", "-d", database,
                           "-v", "ON_ERROR_STOP=1", "-c", statement),
            env={"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD, "PGCONNECT_TIMEOUT": "5"},
            capture_output=True, text=True, cwd="/", check=False)
        if done.returncode != 0:
            raise Unreachable(done.stderr.strip())
        return [tuple(line.split("\t")) for line in done.stdout.splitlines()]

    def database_answers(self):
        """Starts the database again while a killed one's remains are in its way."""
        if not self.daemons["database"].runs():
            self.daemons["database"].start()
        try:
            return self.sql("SELECT 1", "postgres") == [("1",)]
        except Unreachable:
            return False

    # --- life ---------------------------------------------------------------------------------

    def write_policy(self, preset):
        """Returns heddle.json for a preset; with accounts if it has an economy."""
        settings = {"policy": preset, "queues": [{"path": f"root.{user}"} for user in USERS]}
        if preset == "dynamic-priority":
            for queue, rate in zip(settings["queues"], (0.01, 0.02, 0.03)):
                queue.update(budget=100, spending_rate=rate, income=10)
            settings["dynamic_priority"] = {"allocation_interval_ms": 2000}
            settings["api"] = {"acl_file": str(self.acl)}
            settings["store"] = {"password_file": str(self.folder / "password"), "place":
                                 f"postgres://heddle@127.0.0.1:{self.database_port}/heddle"}
        self.heddle_json.write_text(json.dumps(settings, indent=1) + "\n")

    def start(self):
        """Starts all daemons except the database, from empty folders."""
        secret = os.urandom(32).hex()
        for path, text in ((self.secret, secret), (self.folder / "password", PASSWORD),
                           (self.acl, f"operator admin {secret}\n")):
            path.touch(mode=0o600)
            path.write_text(text)
        with open(self.logs / "namenode.log", "ab") as log:
            subprocess.run(
                self.java(256, "format", MAIN["namenode"], "-format", "-nonInteractive"),
                env=self.daemons["namenode"].environment, stdout=log, stderr=log, check=True)
        for name in ("zookeeper", "namenode", "datanode"):
            self.daemons[name].start()
        wait_until("HDFS out of safe mode", self._hdfs_ready, 180)
        for name in ("rm1", "rm2", *self.nodes()):
            self.daemons[name].start()

    def _hdfs_ready(self):
        try:
            beans = get_json(f"http://127.0.0.1:{self.web_port}/jmx?qry=Hadoop:service=NameNode,"
                             "name=FSNamesystemState")["beans"]
            return beans[0]["FSState"] == "Operational" and beans[0]["NumLiveDataNodes"] == 1
        except (Unreachable, IndexError, KeyError):
            return False

    def nodes(self):
        """Returns the names of the NodeManagers."""
        return [name for name in self.daemons if name.startswith("nm")]

    def active(self):
        """Returns the name of the active ResourceManager, or None."""
        for name, web in self.web.items():
            try:
                if get_json(f"{web}/ws/v1/cluster/info", 3)["clusterInfo"]["haState"] == "ACTIVE":
                    return name
            except (Unreachable, KeyError):
                continue
        return None

    def ask(self, path):
        """Reads JSON from the active ResourceManager's REST."""
        active = self.active()
        if not active:
            raise Unreachable("no ResourceManager is active")
        return get_json(self.web[active] + path, 10)

    def heard_of(self, name, since_ms):
        """Whether a NodeManager told the ResourceManager of its health after a moment."""
        host = list(RACKS)[self.nodes().index(name)]
        try:
            nodes = self.ask("/ws/v1/cluster/nodes")["nodes"]["node"]
        except (Unreachable, KeyError, TypeError):
            return False
        return any(node["id"].startswith(host + ":") and node["lastHealthUpdate"] > since_ms
                   for node in nodes)

    def _sessions(self):
        """Counts ZooKeeper's connections without this one; 0 while it does not answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.zookeeper_port), 3) as connection:
                connection.sendall(b"srvr")
                told = connection.makefile().read()
            return int(told.split("Connections: ")[1].split()[0]) - 1
        except (OSError, IndexError, ValueError):
            return 0

    def is_whole(self):
        """Whether all is well: both ResourceManagers answer and are connected to ZooKeeper, each
        for election and store; one is active, and every node runs."""
        try:
            if self._sessions() < 2 * len(self.web):
                return False
            for web in self.web.values():
                get_json(f"{web}/ws/v1/cluster/info", 3)
            nodes = self.ask("/ws/v1/cluster/nodes?states=RUNNING")["nodes"] or {}
            return len(nodes.get("node", [])) == len(RACKS)
        except (Unreachable, KeyError):
            return False

    def heap_mb(self, rm):
        """Returns the used heap of a ResourceManager; 0 while it does not answer."""
        try:
            beans = get_json(f"{self.web[rm]}/jmx?qry=java.lang:type=Memory", 3)["beans"]
            return beans[0]["HeapMemoryUsage"]["used"] >> 20
        except (Unreachable, IndexError, KeyError):
            return 0
