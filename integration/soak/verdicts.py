"""Verdicts on a run, from what the cluster left behind: lost jobs, wrong results, tasks repeated
without need, credits made or lost, a lost engine or another error of Heddle, no recovery.
"""

import re
from dataclasses import dataclass, field

from cluster import Unreachable

# Log lines of a ResourceManager that no kill may cause: a lost engine, and every other error of
# Heddle, except those about the database, which is killed here.
ENGINE_FAULT = re.compile(r"The engine was lost|Cannot rebuild the engine|"
                          r" ERROR (?:(?:yarn|heddle)\.(?!economy|store|books)|economy\.(?!Economy)|"
                          r"(?:compat|config|engine|facts|queues)\.|web\.Heddle)\w+:")


@dataclass
class Verdict:
    """One thing that must hold: its violations, and facts that are only worth a line."""

    title: str
    violations: list = field(default_factory=list)
    measured: str = ""

    def __bool__(self):
        return not self.violations


def jobs_lost(jobs):
    """Every accepted job must have succeeded, with the right result."""
    lost = [f"{job.name} {job.application} ({job.preset}): {job.state} {job.final} {job.wrong}"
            for job in jobs if job.lost()]
    finished = sum(job.final == "SUCCEEDED" for job in jobs)
    return Verdict("jobs lost", lost, f"{finished} jobs finished, {len(lost)} lost")


def tasks_repeated(jobs, history):
    """A job with one ApplicationMaster must have run each task once: killing a ResourceManager, a
    NodeManager or ZooKeeper ends no container. (A killed ApplicationMaster of MapReduce takes
    its running tasks along; those must be repeated.) `history` returns the lines of a job's
    history."""
    repeated, needed, seen, tasks_seen, restarted = [], 0, 0, 0, 0
    for job in jobs:
        if job.kind != "mapreduce" or job.final != "SUCCEEDED":
            continue
        lines = history(job)
        if lines is None:
            continue
        masters, tasks, attempts = (
            sum(line.startswith(starts) for line in lines) for starts in (
                '{"type":"AM_STARTED"', '{"type":"TASK_STARTED"',
                ('{"type":"MAP_ATTEMPT_STARTED"', '{"type":"REDUCE_ATTEMPT_STARTED"')))
        seen += 1
        tasks_seen += tasks
        if masters > 1:
            restarted += 1
            needed += max(0, attempts - tasks)
        elif attempts != tasks:
            repeated.append(f"{job.name} {job.application} ({job.preset}): "
                            f"{attempts} attempts of {tasks} tasks")
    return Verdict("tasks run twice without need", repeated,
                   f"{tasks_seen} tasks of {seen} MapReduce jobs; {needed} repeated in {restarted} "
                   "jobs whose ApplicationMaster was killed")


def engine_faults(logs):
    """No ResourceManager's log may report a lost engine or an error in Heddle."""
    found = []
    for log in sorted(logs.glob("rm*.log")):
        with open(log, encoding="utf-8", errors="replace") as lines:
            found += [f"{log.name}: {line.strip()[:300]}" for line in lines
                      if ENGINE_FAULT.search(line)]
    return Verdict("engines lost, errors logged", found, f"{len(found)} lines")


def credits_kept(cluster, grants):
    """Checks the database alone, while no ResourceManager runs. Every account holds its grants and
    income, less its charges. A confirmed grant is there once, another one at most once."""
    wrong = []
    try:
        head = cluster.sql("SELECT granted, debited, forfeited FROM heddle.head")
        granted, debited, forfeited = (int(value) for value in head[0])
        accounts = {name: int(budget) for name, budget in cluster.sql(
            "SELECT name, budget FROM heddle.queues")}
        given = cluster.sql("SELECT queue, kind, amount, granted_by FROM heddle.grants")
        ledger = cluster.sql("SELECT queue, SUM(income), SUM(debit), COUNT(*) FROM heddle.ledger "
                             "GROUP BY queue")
    except (Unreachable, IndexError) as error:
        return Verdict("credits made or lost", [f"the database cannot be read: {error}"])
    if granted - debited - forfeited != sum(accounts.values()):
        wrong.append(f"granted {granted} - debited {debited} - forfeited {forfeited} is not the "
                     f"sum of the budgets, {sum(accounts.values())}")
    balance = dict.fromkeys(accounts, 0)
    for queue, kind, amount, _ in given:
        balance[queue] = balance.get(queue, 0) + (1 if kind == "granted" else -1) * int(amount)
    for queue, income, debit, _ in ledger:
        balance[queue] = balance.get(queue, 0) + int(income) - int(debit)
    for queue, budget in sorted(accounts.items()):
        if balance[queue] != budget:
            wrong.append(f"{queue} holds {budget}, its grants and ledger make {balance[queue]} "
                         "(millionths)")
    wrong += grants_once(grants, [int(amount) for _, _, amount, by in given if by == "operator"])
    rows = sum(int(row[3]) for row in ledger)
    confirmed = sum(grant.answer == "confirmed" for grant in grants)
    if not rows or not confirmed or not debited:
        wrong.append("nothing was granted or nothing charged: this run says nothing of credits")
    return Verdict("credits made or lost", wrong,
                   f"{len(accounts)} accounts, {rows} rows of the ledger, {confirmed} of "
                   f"{len(grants)} grants confirmed, {debited / 1e6:.6f} credits charged")


def grants_once(grants, booked):
    """Grants are distinguished by their amounts, which all differ."""
    wrong = []
    for grant in grants:
        times = booked.count(grant.micro)
        least, most = {"confirmed": (1, 1), "refused": (0, 0)}.get(grant.answer, (0, 1))
        if not least <= times <= most:
            wrong.append(f"a grant of {grant.micro} millionths was {grant.answer} and is "
                         f"in the books {times} times")
    known = {grant.micro for grant in grants}
    return wrong + [f"an unknown grant of {amount} millionths" for amount in booked
                    if amount not in known]
