"""A file store of MLflow, read as MLflow's own FileStore reads it (mlflow/store/tracking/file_store.py) by a
program that shares nothing with the writer: prints it as JSON. Where mlflow is installed, that reads it."""
import json
import os
import re
import sys

import yaml

store = sys.argv[1]
NAME = re.compile(r"^[/\w.\- ]*$")  # what every version allows


def files(folder):
    for root, _, names in os.walk(folder):
        for name in names:
            key = os.path.relpath(os.path.join(root, name), folder)
            assert NAME.match(key) and os.path.normpath(key) == key, key
            with open(os.path.join(root, name), encoding="utf-8") as file:
                yield key, file.read()


out = {}
for experiment in sorted(os.listdir(store)):
    folder = os.path.join(store, experiment)
    if experiment == ".trash":
        continue
    with open(os.path.join(folder, "meta.yaml"), encoding="utf-8") as file:
        meta = yaml.safe_load(file)
    assert meta["experiment_id"] == experiment and experiment.isdigit() and meta["lifecycle_stage"] == "active", meta
    runs = {}
    for run in sorted(os.listdir(folder)):
        place = os.path.join(folder, run)
        if not os.path.isdir(place):
            continue
        with open(os.path.join(place, "meta.yaml"), encoding="utf-8") as file:
            info = yaml.safe_load(file)
        assert info["run_id"] == info["run_uuid"] == run and re.fullmatch(r"[0-9a-f]{32}", run), info
        assert info["experiment_id"] == experiment and info["artifact_uri"].startswith("file:///"), info
        metrics = {}
        for key, text in files(os.path.join(place, "metrics")):
            rows = []
            for line in text.splitlines():
                parts = line.split(" ")
                assert len(parts) == 3, line
                rows.append([int(parts[0]), float(parts[1]), int(parts[2])])
            assert rows, key
            metrics[key] = rows
        runs[info["run_name"]] = {"status": info["status"], "start_time": info["start_time"],
                                  "end_time": info["end_time"], "metrics": metrics,
                                  "params": dict(files(os.path.join(place, "params"))),
                                  "tags": dict(files(os.path.join(place, "tags")))}
    out[meta["name"]] = runs
print(json.dumps(out))
