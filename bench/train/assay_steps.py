"""Runs assay-train and gives the length of its steps; for compare.py and gpu.py."""
import json
import os
import subprocess
import sys


def step_seconds(program, workload, config, folder):
    path = os.path.join(folder, workload + ".json")
    with open(path, "w") as file:
        json.dump(config, file)
    run = subprocess.run([program, workload, "--config", path], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"assay-train {workload} failed with {run.returncode}: {run.stderr[:1500]}")
    times = []
    for line in run.stdout.splitlines():
        if line.startswith("[PerfLog] ") and '"STEP_END"' in line:
            value = json.loads(line[10:])["value"]
            times.append(sum(value[k] for k in ("data_s", "compute_s", "comm_s", "optimizer_s")))
    return times
