"""Reads results and runs (docs/run-directory.md). What a frame is made of can be had without pandas, row by row.

    run = assay.Run("results/latest")
    run.verdict                          # "VALID"
    run.metrics()                        # a frame: case, round, metric, value, unit, better, verdict
    run.steps()                          # a frame: case, round, rank, host, step, time_s, loss, samples, ...
    run.telemetry()                      # a frame: case, round, host, source, time_s, util, power_w, ...
    assay.metrics("results")             # the metrics of all runs of a folder
"""
import csv
import json
import re
from pathlib import Path

RESULT_SCHEMA = 1  # of result.json
NODE_FOLDER = re.compile(r"(?P<host>.+)_noderank(?P<node>\d+)")
RANK_LOG = re.compile(r"rank(?P<rank>\d+)\.out\.log")
TOKEN = "[PerfLog]"
_DECODER = json.JSONDecoder()


class NotARun(ValueError):
    """The folder holds no run that can be read; the message says what it lacks."""


def frame(rows):
    """A pandas.DataFrame of rows."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("frames need pandas (python3-pandas); rows can be had without: steps_rows() and so on") from error
    return pandas.DataFrame(list(rows))


class Run:
    def __init__(self, folder):
        self.folder = Path(folder)
        file = self.folder / "result.json"
        if not self.folder.is_dir():
            raise NotARun(f"{self.folder}: there is no such folder")
        if not file.exists():
            raise NotARun(f"{self.folder}: has no result.json; 'assay report {self.folder}' makes it")
        try:
            self.result = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise NotARun(f"{file}: is no JSON: {error}") from error
        if not isinstance(self.result, dict) or "cases" not in self.result:
            raise NotARun(f"{file}: is no result of Assay")
        schema = self.result.get("schema_version", RESULT_SCHEMA)
        if schema != RESULT_SCHEMA:
            raise NotARun(f"{file}: has schema {schema}, this package reads {RESULT_SCHEMA}")

    id = property(lambda self: self.result["run_id"])
    suite = property(lambda self: self.result["suite"])
    verdict = property(lambda self: self.result["validity"])

    def __repr__(self):
        return f"<assay.Run {self.id} {self.suite} {self.verdict}>"

    def metrics_rows(self):
        for case in self.result["cases"]:
            for one in case.get("rounds", []):
                for name, metric in one.get("metrics", {}).items():
                    yield {"run": self.id, "suite": self.suite, "case": case["name"], "round": one["round"],
                           "metric": name, "value": metric["value"], "unit": metric.get("unit", ""),
                           "better": metric.get("better", ""), "origin": metric.get("origin", ""),
                           "headline": name == case.get("headline"), "verdict": one.get("validity", "")}

    def events(self):
        """Every PerfLog event of every rank: (case, round, host, rank, event)."""
        for case, number, node in self._nodes():
            logs = {}
            for file in node.iterdir():
                if match := RANK_LOG.match(file.name):
                    logs.setdefault(int(match["rank"]), node / match[0])
            host = NODE_FOLDER.fullmatch(node.name)["host"]
            for rank, log in sorted(logs.items()):
                for event in _events_of(log):
                    yield case, number, host, rank, event

    def steps_rows(self):
        for case, number, host, rank, event in self.events():
            if event.get("event") != "STEP_END":
                continue
            metadata = event.get("metadata", {})
            row = {"case": case, "round": number, "rank": rank, "host": host, "step": event.get("step"),
                   "time_s": metadata.get("time_ms", float("nan")) / 1e3,
                   "mono_s": metadata.get("mono_us", float("nan")) / 1e6}
            value = event.get("value")
            for name, one in (value if isinstance(value, dict) else {}).items():
                if isinstance(one, (int, float)) or one is None:
                    row.setdefault(name, float("nan") if one is None else one)
            yield row

    def telemetry_rows(self):
        for case, number, node in self._nodes():
            file = node / "telemetry.csv"
            if not file.exists():
                continue
            host = NODE_FOLDER.fullmatch(node.name)["host"]
            with file.open(newline="", encoding="utf-8", errors="replace") as lines:
                for line in csv.DictReader(lines):
                    try:
                        row = {"case": case, "round": number, "host": host, "source": line["source"],
                               "time_s": int(line["wall_ns"]) / 1e9}
                    except (KeyError, TypeError, ValueError):
                        continue  # a torn line
                    for name, text in line.items():
                        if name not in ("source", "wall_ns", "mono_ns", None):
                            row[name] = _number(text)
                    yield row

    def metrics(self):
        return frame(self.metrics_rows())

    def steps(self):
        return frame(self.steps_rows())

    def telemetry(self):
        return frame(self.telemetry_rows())

    def _nodes(self):
        for case in self.result["cases"]:
            for one in case.get("rounds", []):
                folder = self.folder / case["name"] / f"round{one['round']}"
                if not folder.is_dir():
                    continue
                for node in sorted(folder.iterdir()):
                    if NODE_FOLDER.fullmatch(node.name) and node.is_dir():
                        yield case["name"], one["round"], node


def runs(results="results"):
    """The runs of a folder that have a result, the oldest first."""
    found = []
    for folder in sorted(Path(results).glob("run*")):
        if (folder / "result.json").exists() and not folder.is_symlink():
            found.append(Run(folder))
    return found


def metrics(results="results"):
    """The metrics of all runs of a folder, as one frame."""
    return frame(row for run in runs(results) for row in run.metrics_rows())


def _number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


def _events_of(log):
    # A log that was rotated: its head for good, then the newest two parts.
    for part in (log.with_name(log.name + ".head"), log.with_name(log.name + ".1"), log):
        if not part.exists():
            continue
        with part.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                at = line.find(TOKEN)
                while at >= 0:
                    try:
                        event, end = _DECODER.raw_decode(line, line.index("{", at))
                    except ValueError:
                        end = at + len(TOKEN)
                    else:
                        if isinstance(event, dict):
                            yield event
                    at = line.find(TOKEN, end)
