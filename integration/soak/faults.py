"""Kills daemons at random moments with kill -9, and detects their recovery."""

import enum
import os
import re
import signal
import time

from cluster import Unreachable
from processes import command_line, descendants

MASTERS = {
    "org.apache.hadoop.mapreduce.v2.app.MRAppMaster": "mapreduce",
    "org.apache.spark.deploy.yarn.ApplicationMaster": "spark",
}
APPLICATION = re.compile(r"application_\d+_\d+")


class Kind(enum.Enum):
    """A kind of fault; the number is its weight in the draw."""

    ACTIVE = ("active ResourceManager", 25)
    STANDBY = ("standby ResourceManager", 5)
    NODE = ("NodeManager", 20)
    MASTER = ("ApplicationMaster", 25)
    ZOOKEEPER = ("ZooKeeper", 10)
    DATABASE = ("database", 15)
    SWITCH = ("both ResourceManagers, for the next preset", 0)

    @property
    def title(self):
        """Its name in the table."""
        return self.value[0]


def masters():
    """(process id, application) of every running ApplicationMaster."""
    found = []
    for pid in descendants():
        arguments = command_line(pid)
        # Not the shell that started it: its only argument contains the class, too.
        if not any(main in arguments for main in MASTERS):
            continue
        try:
            application = APPLICATION.search(os.readlink(f"/proc/{pid}/cwd"))
        except OSError:
            continue
        if application:
            found.append((pid, application.group()))
    return found


class Fault:
    """One kill: its target, and whether the cluster has recovered."""

    def __init__(self, kind, cluster, workload, random):
        self.kind, self.cluster, self.workload = kind, cluster, workload
        self.daemon, self.pid, self.application, self.struck_ms = None, 0, "", 0
        self.target = self._target(random)

    def _target(self, random):
        """The name of the target; None if none of the kind runs now."""
        active = self.cluster.active()
        if self.kind is Kind.MASTER:
            found = masters()
            if not found:
                return None
            self.pid, self.application = random.choice(found)
            return self.application
        name = {
            Kind.ACTIVE: active,
            Kind.STANDBY: {"rm1": "rm2", "rm2": "rm1"}.get(active),
            Kind.NODE: random.choice(self.cluster.nodes()),
            Kind.ZOOKEEPER: "zookeeper",
            Kind.DATABASE: "database",
        }[self.kind]
        self.daemon = self.cluster.daemons.get(name)
        return name if self.daemon and self.daemon.runs() else None

    def strike(self):
        """Kills it; False if it had just ended."""
        self.struck_ms = int(time.time() * 1000)
        if self.daemon:
            self.daemon.kill()
            return True
        try:
            os.kill(self.pid, signal.SIGKILL)
            return True
        except ProcessLookupError:
            return False

    def recovered(self):
        """Whether the state before is restored."""
        if self.kind is Kind.MASTER:
            job = next((job for job in self.workload.jobs.values()
                        if job.application == self.application), None)
            return (job is not None and job.over()) or any(
                application == self.application and pid != self.pid
                for pid, application in masters())
        if not self.daemon.runs():
            return False
        if self.kind is Kind.DATABASE:
            return self.cluster.database_answers() and self._books() == "connected"
        if self.kind is Kind.NODE and not self.cluster.heard_of(self.daemon.name, self.struck_ms):
            return False
        return self.cluster.is_whole()

    def _books(self):
        try:
            return self.cluster.ask("/heddle/v1/health")["books"]
        except (Unreachable, KeyError, TypeError):
            return None
