"""The report of a run: Markdown for people, JSON and CSV for programs."""

import csv
import json
import statistics
from collections import Counter

MEASURES = ("heap_mb", "resident_mb", "handles")


def write(folder, name, run):
    """Writes NAME.md, NAME.json and NAME.csv into the folder; returns the first."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(as_json(run), indent=1) + "\n")
    with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("seconds", "preset", "resourcemanager", "process_age_s", *MEASURES))
        rows.writerows(run.samples)
    page = folder / f"{name}.md"
    page.write_text("\n".join(as_markdown(run)) + "\n")
    return page


def as_json(run):
    """All data of the tables."""
    return {
        "date": run.date, "command": run.command, "seed": run.seed, "hadoop": run.hadoop,
        "commit": run.commit, "seconds": round(run.seconds()),
        "faults": [dict(zip(("seconds", "preset", "kind", "target", "recovered_s"), fault))
                   for fault in run.struck],
        "jobs": [{"name": job.name, "kind": job.kind, "user": job.user, "preset": job.preset,
                  "application": job.application, "state": job.state, "final": job.final,
                  "seconds": job.seconds, "wrong": job.wrong}
                 for job in run.workload.jobs.values()],
        "verdicts": [{"title": verdict.title, "holds": bool(verdict),
                      "violations": verdict.violations, "measured": verdict.measured}
                     for verdict in run.verdicts],
    }


def as_markdown(run):
    """Lines of the page."""
    lines = [f"# Soak of {run.date}", "", f"Command: `{run.command}`, seed {run.seed}, Hadoop "
             f"{run.hadoop}, commit {run.commit}. {len(run.struck)} faults in "
             f"{run.seconds() / 60:.0f} minutes.", "", "| verdict | holds | measured |",
             "| --- | --- | --- |"]
    for verdict in run.verdicts:
        lines.append(f"| {verdict.title} | {'yes' if verdict else 'NO'} | {verdict.measured} |")
    lines.append("")
    for verdict in run.verdicts:
        lines += [f"- {verdict.title}: {violation}" for violation in verdict.violations]
    lines += ["", "| fault (kill -9) | times | recovered after, median (s) | longest (s) |",
              "| --- | --- | --- | --- |"]
    for kind, times in sorted(Counter(fault[2] for fault in run.struck).items()):
        took = [fault[4] for fault in run.struck if fault[2] == kind and fault[4] is not None]
        middle = f"{statistics.median(took):.1f} | {max(took):.1f}" if took else "- | -"
        lines.append(f"| {kind} | {times} | {middle} |")
    lines += ["", "| preset | faults | MapReduce jobs finished | Spark jobs finished | "
              "not accepted | lost |", "| --- | --- | --- | --- | --- | --- |"]
    for preset in run.presets:
        jobs = [job for job in run.workload.jobs.values() if job.preset == preset]
        done = Counter(job.kind for job in jobs if job.final == "SUCCEEDED")
        faults = sum(fault[1] == preset for fault in run.struck)
        refused = sum(job.state == "refused" and not job.application for job in jobs)
        lines.append(f"| {preset} | {faults} | {done['mapreduce']} | {done['spark']} | {refused} "
                     f"| {sum(job.lost() for job in jobs)} |")
    lines += ["", "| ResourceManagers' processes | samples | first quarter, median | "
              "last quarter, median | largest |", "| --- | --- | --- | --- | --- |"]
    lines += [row for index, measure in enumerate(MEASURES)
              for row in measured(run.samples, index, measure)]
    return lines


def measured(samples, index, measure):
    """The row of one measure; growth shows in the last quarter."""
    values = [sample[4 + index] for sample in samples if sample[4 + index]]
    if not values:
        return
    quarter = max(1, len(values) // 4)
    title = {"heap_mb": "heap in use (MB)", "resident_mb": "resident memory (MB)",
             "handles": "open file handles"}[measure]
    yield (f"| {title} | {len(values)} | {statistics.median(values[:quarter]):.0f} | "
           f"{statistics.median(values[-quarter:]):.0f} | {max(values)} |")
