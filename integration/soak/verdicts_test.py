"""Plants what each verdict must find and what it must accept. Run by scripts/self-test."""

import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import verdicts
from workload import Job

MICRO = 1_000_000


def job(**told):
    """A MapReduce job that ended well, unless `told` says otherwise."""
    values = {"application": "application_1_0001", "state": "FINISHED", "final": "SUCCEEDED"}
    made = Job("mapreduce-1", "mapreduce", "alice", "fair", 2)
    for key, value in {**values, **told}.items():
        setattr(made, key, value)
    return made


class Jobs(unittest.TestCase):
    """Verdicts on jobs."""

    def test_a_job_that_was_accepted_and_did_not_succeed_is_lost(self):
        for told in ({"state": "FAILED", "final": "FAILED"}, {"state": "RUNNING", "final": ""},
                     {"wrong": "it counted too much"}):
            self.assertFalse(verdicts.jobs_lost([job(), job(**told)]), told)

    def test_a_job_that_was_never_accepted_is_not(self):
        refused = job(application="", state="refused", final="")
        self.assertTrue(verdicts.jobs_lost([job(), refused]))

    def test_a_task_runs_twice_only_if_its_master_was_killed(self):
        task = '{"type":"TASK_STARTED"}\n{"type":"MAP_ATTEMPT_STARTED"}\n'
        again = '{"type":"MAP_ATTEMPT_STARTED"}\n'
        master = '{"type":"AM_STARTED"}\n'
        for text, holds in ((master + task, True), (master + task + again, False),
                            (master + master + task + again, True)):
            found = verdicts.tasks_repeated([job()], lambda _, lines=text.splitlines(): lines)
            self.assertEqual(bool(found), holds, text)

    def test_a_lost_engine_and_errors_of_heddle_are_found_in_the_log(self):
        for line, holds in (
                ("INFO yarn.HeddleScheduler: all is well", True),
                ("WARN engine.Engine: The engine was lost: a panic", False),
                ("ERROR engine.Engine: Cannot be told", False),
                ("ERROR facts.FactFeed: cannot look", False),
                ("ERROR economy.Submissions: a signature cannot be checked", False),
                ("ERROR web.HeddleFilter: a request failed", False),
                ("ERROR yarn.HeddleScheduler: Error in the tick", False),
                ("ERROR economy.Economy: the database does not answer", True),
                ("ERROR resourcemanager.ApplicationMasterService: not Heddle's", True)):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder, "rm1.log").write_text(f"2026-11-22 12:00:00,000 {line}\n")
                self.assertEqual(bool(verdicts.engine_faults(Path(folder))), holds, line)


class Credits(unittest.TestCase):
    """Books of one account: 100 at opening, 2 by a grant, 5 of income, 7 charged."""

    def verdict(self, budget=100 * MICRO, booked=(2 * MICRO,), answers=("confirmed",)):
        """The verdict on a database with these rows."""
        tables = {
            "FROM heddle.head": [(str(107 * MICRO), str(7 * MICRO), "0")],
            "FROM heddle.queues": [("alice", str(budget))],
            "FROM heddle.grants": [("alice", "granted", str(100 * MICRO), "configuration")]
            + [("alice", "granted", str(amount), "operator") for amount in booked],
            "FROM heddle.ledger": [("alice", str(5 * MICRO), str(7 * MICRO), "3")],
        }

        def sql(statement):
            return next(rows for table, rows in tables.items() if table in statement)

        grants = [SimpleNamespace(micro=2 * MICRO + number, answer=answer)
                  for number, answer in enumerate(answers)]
        return verdicts.credits_kept(SimpleNamespace(sql=sql), grants)

    def test_books_that_balance_hold(self):
        self.assertEqual(self.verdict().violations, [])

    def test_a_millionth_more_or_less_is_found(self):
        for budget in (100 * MICRO - 1, 100 * MICRO + 1):
            self.assertFalse(self.verdict(budget))

    def test_a_confirmed_grant_that_is_missing_or_twice_there_is_found(self):
        for booked in ((), (2 * MICRO, 2 * MICRO)):
            self.assertFalse(self.verdict(booked=booked), booked)

    def test_a_grant_without_an_answer_may_be_missing(self):
        answers = ("confirmed", "unclear")
        self.assertEqual(self.verdict(answers=answers).violations, [])

    def test_books_in_which_nothing_happened_say_nothing(self):
        self.assertFalse(self.verdict(booked=(), answers=()))

    def test_a_grant_of_which_no_one_knows_is_found(self):
        found = self.verdict(booked=(2 * MICRO, 3 * MICRO))
        self.assertIn(f"an unknown grant of {3 * MICRO} millionths", found.violations)


if __name__ == "__main__":
    unittest.main()
