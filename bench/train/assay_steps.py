"""Runs assay-train and gives its steps; for compare.py, gpu.py and sustained.py."""
import json
import os
import subprocess
import sys


def step_ends(program, workload, config, folder):
    """The STEP_END events of a run."""
    path = os.path.join(folder, workload + ".json")
    with open(path, "w") as file:
        json.dump(config, file)
    run = subprocess.run([program, workload, "--config", path], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"assay-train {workload} failed with {run.returncode}: {run.stderr[:1500]}")
    return [json.loads(line[10:]) for line in run.stdout.splitlines()
            if line.startswith("[PerfLog] ") and '"STEP_END"' in line]


def step_seconds(program, workload, config, folder):
    """The length of its steps."""
    return [sum(event["value"][k] for k in ("data_s", "compute_s", "comm_s", "optimizer_s"))
            for event in step_ends(program, workload, config, folder)]
