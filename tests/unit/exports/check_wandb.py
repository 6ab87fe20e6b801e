"""Holds an export for Weights & Biases against the run that it was made of: result.json and the PerfLog lines of its
ranks, read here from scratch.  check_wandb.py RUN FOLDER"""
import glob
import json
import math
import os
import re
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from read_wandb import read_folder  # noqa: E402

run, folder = sys.argv[1:]
with open(os.path.join(run, "result.json"), encoding="utf-8") as file:
    result = json.load(file)
exported = read_folder(folder)
rounds = rows = 0
for case in result["cases"]:
    for one in case["rounds"]:
        rounds += 1
        wandb = exported.pop(f"{case['name']} round {one['round']}")
        assert wandb["run"]["project"] == result["suite"] and wandb["run"]["group"] == result["run_id"], wandb["run"]
        assert wandb["run"]["tags"] == ["assay", one["validity"]], wandb["run"]["tags"]
        assert wandb["exit_code"] == (0 if one["status"] == "completed" else 1), wandb["exit_code"]
        for name, metric in one["metrics"].items():
            assert float(wandb["summary"][f"result/{name}"]) == metric["value"], name
        # The losses of every rank, by the trainer's steps.
        losses = {}
        place = os.path.join(run, case["name"], f"round{one['round']}")
        for log in glob.glob(os.path.join(place, "*", "rank*.out.log")):
            rank = int(re.search(r"rank(\d+)\.out\.log$", log)[1])
            key = "train/loss" if rank == 0 else f"rank{rank}/train/loss"
            with open(log, encoding="utf-8") as file:
                for line in file:
                    if line.startswith("[PerfLog] "):
                        event = json.loads(line[10:])
                        if event["event"] == "STEP_END" and "loss" in event["value"]:
                            losses[event["step"], key] = event["value"]["loss"]
        found = {(int(row["_step"]), key): json.loads(value) for row in wandb["history"] for key, value in row.items()
                 if key.endswith("train/loss")}
        assert found.keys() == losses.keys(), (found.keys(), losses.keys())
        for key, value in losses.items():
            assert found[key] == value or (math.isnan(found[key]) and math.isnan(value)), (key, found[key], value)
        rows += len(wandb["history"])
assert not exported, exported.keys()
print(f"{rounds} rounds, {rows} rows")
