"""./x soak: real daemons, real jobs, and kills at random moments, under one preset after the other.

Exits with 0 only if every verdict holds. The seed decides what is killed, and how long after the
last fault. It cannot decide how the machine's processes interleave.
"""

import argparse
import datetime
import os
import random as randoms
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass

import processes
import report
import verdicts
from cluster import ROOT, USERS, Cluster, wait_until
from faults import Fault, Kind
from workload import Workload

PRESETS = ("fair", "fair-original", "dynamic-priority", "shufflewatcher", "hfsp",
           "reverse-adaptive")
ECONOMY = "dynamic-priority"
RECOVERY_PATIENCE, DRAIN_PATIENCE = 300, 900
SAMPLE_S, GRANT_S = 15, 12
# Long enough to charge for intervals, make grants, and kill the database in between.
ECONOMY_S = 90
# How often a fault strikes while the last one is being recovered from.
OVERLAP = 0.25


@dataclass
class Grant:
    """Credits that the operator granted, and the command line's answer."""

    micro: int
    process: subprocess.Popen
    answer: str = "unclear"


class Run:
    """One soak, from an empty folder to its verdicts."""

    def __init__(self, options, folder):
        self.options, self.seed, self.hadoop = options, options.seed, options.hadoop
        # Draws of their own: the time of an answer must not change what is killed next.
        self.random = randoms.Random(options.seed)
        self.presets = [preset for preset in PRESETS if preset in options.presets.split(",")]
        self.cluster = Cluster(folder, options.hadoop, randoms.Random())
        jobs = randoms.Random(f"jobs of {options.seed}")
        self.workload = Workload(self.cluster, jobs, os.environ["HEDDLE_SPARK"])
        self.date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
        self.command = "./x soak " + " ".join(sys.argv[1:])
        self.commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT,
                                     capture_output=True, text=True, check=False).stdout.strip()
        self.began = time.monotonic()
        self.struck, self.samples, self.ended, self.verdicts, self.grants = [], [], [], [], []
        self.unrecovered, self.due, self.pending = [], {}, []
        self.preset, self.next_sample, self.next_grant = "", 0.0, 0.0

    def seconds(self):
        """Seconds since the run began."""
        return time.monotonic() - self.began

    def say(self, text):
        """Prints a line of progress."""
        print(f"{self.seconds():7.0f} s  {text}", flush=True)

    # --- the parts of a run -------------------------------------------------------------------

    def whole(self):
        """Runs; leaves the verdicts."""
        self.preset = self.presets[0]
        self.cluster.make_database()
        self._open_economy()
        self.cluster.write_policy(self.preset)
        self.cluster.start()
        self.workload.start()
        wait_until("the cluster whole", self.cluster.is_whole, RECOVERY_PATIENCE)
        self.say(f"the cluster runs, its logs are in {self.cluster.logs}")
        self.began = time.monotonic()
        for number, preset in enumerate(self.presets, 1):
            if number > 1:
                self._switch(preset)
            self._phase(number / len(self.presets))
        self._drain()
        self._close()

    def _open_economy(self):
        if ECONOMY in self.presets:
            wait_until("PostgreSQL", self.cluster.database_answers, 120)
            self.cluster.sql("CREATE DATABASE heddle", "postgres")

    def _phase(self, part):
        """Faults and jobs under one preset, up to this part of the run's faults and time."""
        faults = round(self.options.faults * part)
        until = self.began + self.options.hours * 3600 * part
        if self.preset == ECONOMY:
            until = max(until, time.monotonic() + ECONOMY_S)
        self.say(f"policy {self.preset}: up to fault {faults}")
        while len(self.struck) < faults or time.monotonic() < until:
            self._pause_between(faults, until)
            self._fault()
        while self.pending:
            self.tick()

    def _pause_between(self, faults, until):
        """Runs on until the next fault is due: about its share of the remaining time. Waits for the
        last recovery unless the two faults shall overlap."""
        left = max(1, faults - len(self.struck))
        mean = max(self.options.pause, (until - time.monotonic()) / left)
        due = time.monotonic() + self.random.uniform(0.3, 1.2) * mean
        overlap = self.random.random() < OVERLAP
        while time.monotonic() < due or (self.pending and not overlap):
            self.tick()

    def _fault(self):
        kinds = [kind for kind in Kind if kind is not Kind.DATABASE or self.preset == ECONOMY]
        kind = self.random.choices(kinds, [kind.value[1] for kind in kinds])[0]
        if self.preset == ECONOMY and not any(row[2] == Kind.DATABASE.title for row in self.struck):
            kind = Kind.DATABASE
        down = self.random.choice((0, 0, 1, 5))
        fault = Fault(kind, self.cluster, self.workload, self.random)
        if not fault.target or not fault.strike():
            self.tick()
            return
        if fault.daemon:
            self.due[fault.daemon.name] = time.monotonic() + down
        self._struck(kind, fault.target)
        self.pending.append((fault, time.monotonic(), self.struck[-1]))

    def _struck(self, kind, target):
        self.struck.append([round(self.seconds(), 1), self.preset, kind.title, target, None])
        self.say(f"fault {len(self.struck)}: {kind.title} ({target}), "
                 f"{len(self.workload.running())} jobs under way")

    def _switch(self, preset):
        """Kills both ResourceManagers and switches to the next policy; jobs go on."""
        for rm in ("rm1", "rm2"):
            self.cluster.daemons[rm].kill()
        self._struck(Kind.SWITCH, "rm1 rm2")
        self._audit()
        self.preset = preset
        self.cluster.write_policy(preset)
        for rm in ("rm1", "rm2"):
            self.cluster.daemons[rm].start()
        began, fault = time.monotonic(), self.struck[-1]
        while not self.cluster.is_whole():
            self.tick()
            if time.monotonic() - began > RECOVERY_PATIENCE:
                self.unrecovered.append(f"{fault[2]}, at {fault[0]} s")
                return
        fault[4] = round(time.monotonic() - began, 1)

    def _audit(self):
        """Checks the books after the part with the economy, when nothing writes to them."""
        if self.preset != ECONOMY:
            return
        for grant in self.grants:
            try:
                grant.process.wait(60)
            except subprocess.TimeoutExpired:
                grant.process.kill()
                grant.process.wait()
        self._read_answers()
        wait_until("PostgreSQL", self.cluster.database_answers, 120)
        self.verdicts.append(verdicts.credits_kept(self.cluster, self.grants))

    def _drain(self):
        """Ends faults and jobs: accepted jobs must end well in time."""
        self.say(f"waiting for {len(self.workload.running())} jobs")
        until = time.monotonic() + DRAIN_PATIENCE
        while self.workload.running() and time.monotonic() < until:
            self.tick(busy=False)
        while self.pending:
            self.tick(busy=False)

    def _close(self):
        jobs = list(self.workload.jobs.values())
        for rm in ("rm1", "rm2"):
            self.cluster.daemons[rm].kill()
        self._audit()
        self.verdicts[:0] = [
            verdicts.jobs_lost(jobs),
            verdicts.tasks_repeated(jobs, self.workload.history)]
        self.verdicts += [
            verdicts.engine_faults(self.cluster.logs),
            verdicts.Verdict("daemons that ended without a kill", self.ended,
                             f"{len(self.ended)}"),
            verdicts.Verdict("faults not recovered from", self.unrecovered,
                             f"{len(self.unrecovered)}, each within {RECOVERY_PATIENCE} s")]

    # --- all the time -------------------------------------------------------------------------

    def tick(self, busy=True):
        """Between faults: restarts daemons, submits jobs, measures."""
        now = time.monotonic()
        for name, daemon in self.cluster.daemons.items():
            if daemon.process is None or daemon.runs():
                continue
            if name not in self.due:
                self.due[name] = now + 1
                # A PostgreSQL that finds a killed one's remains ends at once, as it should.
                if name != "database":
                    self.ended.append(f"{name} at {self.seconds():.0f} s, code "
                                      f"{daemon.process.returncode}")
                    self.say(f"ended by itself: {self.ended[-1]}")
            elif now >= self.due[name]:
                del self.due[name]
                daemon.start()
        self._recoveries()
        self.workload.follow()
        if busy:
            self.workload.keep_busy(self.preset)
        if now >= self.next_sample:
            self.next_sample = now + SAMPLE_S
            self._sample()
        if busy and self.preset == ECONOMY and now >= self.next_grant:
            self.next_grant = now + GRANT_S
            self._grant()
        self._read_answers()
        processes.reap({daemon.process.pid for daemon in self.cluster.daemons.values()
                        if daemon.process} | {c.pid for c in self.workload.clients.values()}
                       | {grant.process.pid for grant in self.grants}
                       | {self.workload.submitter.pid if self.workload.submitter else 0})
        time.sleep(0.5)

    def _recoveries(self):
        for entry in list(self.pending):
            fault, when, row = entry
            took = time.monotonic() - when
            if fault.recovered():
                row[4] = round(took, 1)
            elif took > RECOVERY_PATIENCE:
                self.unrecovered.append(f"{row[2]} ({row[3]}), at {row[0]} s")
                self.say(f"not recovered from: {self.unrecovered[-1]}")
            else:
                continue
            self.pending.remove(entry)

    def _sample(self):
        for rm in ("rm1", "rm2"):
            daemon = self.cluster.daemons[rm]
            if daemon.runs():
                self.samples.append((
                    round(self.seconds()), self.preset, rm,
                    round(time.monotonic() - daemon.started), self.cluster.heap_mb(rm),
                    daemon.resident_mb(), daemon.handles()))

    def _grant(self):
        """Grants an amount that no other grant has, to find it in the books."""
        active = self.cluster.active()
        if not active:
            return
        micro = 1_000_000 + len(self.grants)
        with open(self.cluster.logs / "grants.log", "ab") as log:
            process = subprocess.Popen(
                [self.cluster.command, "budget", USERS[len(self.grants) % len(USERS)],
                 f"+{micro / 1e6:.6f}"], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.PIPE, text=True,
                env={"HEDDLE_URL": self.cluster.web[active], "HEDDLE_USER": "operator",
                     "HEDDLE_SECRET_FILE": str(self.cluster.secret)})
        self.grants.append(Grant(micro, process))

    def _read_answers(self):
        for grant in self.grants:
            if grant.answer == "unclear" and grant.process.poll() is not None \
                    and grant.process.stderr:
                said = grant.process.stderr.read()
                grant.process.stderr.close()
                grant.process.stderr = None
                # In force, but not yet in the store: killing both loses it, as documented.
                later = "written down when" in said
                if grant.process.returncode == 0 and not later:
                    grant.answer = "confirmed"


def options():
    """Parses the arguments."""
    parser = argparse.ArgumentParser(prog="./x soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=0.0, help="at least so long")
    parser.add_argument("--faults", type=int, help="at least so many (220 for each hour, or 20)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="that of another run")
    parser.add_argument("--pause", type=float, default=8.0,
                        help="mean seconds between faults, if the time does not say more")
    parser.add_argument("--presets", default=",".join(PRESETS), help="only these, by comma")
    parser.add_argument("--hadoop", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--record", action="store_true",
                        help="write the table into integration/soak-results")
    told = parser.parse_args()
    unknown = set(told.presets.split(",")) - set(PRESETS)
    if unknown:
        parser.error(f"no preset: {', '.join(sorted(unknown))}; there are {', '.join(PRESETS)}")
    if told.hours < 0 or (told.faults is not None and told.faults < 1):
        parser.error("--hours must not be negative, --faults at least 1")
    if told.faults is None:
        told.faults = round(220 * told.hours) or 20
    return told


def main():
    """Runs, reports, and leaves no process behind."""
    told = options()
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d-%H%M%S")
    folder = ROOT / "build/soak" / stamp
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Under nohup a hang-up is ignored, and must stay so.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    processes.adopt_orphans()
    print(f"seed {told.seed}; everything is in {folder}", flush=True)
    run, failure = None, ""
    try:
        run = Run(told, folder)
        run.whole()
    except KeyboardInterrupt:
        failure = "interrupted"
    except Exception:  # whatever it is, what was started is ended
        failure = traceback.format_exc()
    finally:
        processes.end_all()
        if run and run.cluster.database_folder:
            shutil.rmtree(run.cluster.database_folder, ignore_errors=True)
    if failure:
        print(f"soak: ended early: {failure}\nsoak: seed {told.seed}, logs in {folder}/logs")
        return 1
    results = ROOT / "integration/soak-results" if told.record else folder
    page = report.write(results, f"soak-{stamp}", run)
    print(re.sub(r"^# .*\n", "", page.read_text()), f"\ntable: {page}", sep="")
    if all(run.verdicts):
        for name in ("hdfs", "tmp", "nm1", "nm2", "nm3", "zookeeper"):
            shutil.rmtree(folder / name, ignore_errors=True)
        return 0
    print(f"soak: FAILED with seed {told.seed}; logs and work folders are in {folder}")
    for verdict in run.verdicts:
        for violation in verdict.violations:
            print(f"soak: {verdict.title}: {violation}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
