#!/usr/bin/env python3
"""Steady throughput from raw STEP_END lines, without Assay: `docs/steady.py RUN/CASE/round1/*/rank*.out.log`.

A cruder way than the judge's (docs/metrics.md) on purpose: the second half of each rank's steps, without evaluations and
without steps of more than three medians; samples over time, added over ranks. Both agree when steps are steady.
"""
import json
import statistics
import sys


def rate(path, key="samples"):
    steps, evaluated = [], 0.0  # (seconds since the step before without evaluations, what it trained)
    last = None
    for line in open(path, errors="replace"):
        if "[PerfLog] {" not in line:
            continue
        event = json.loads(line[line.index("[PerfLog] ") + 10:])
        value, meta = event.get("value") or {}, event["metadata"]
        at = meta["mono_us"] / 1e6 if "mono_us" in meta else meta["time_ms"] / 1e3
        if event["event"] == "EVALUATE":
            evaluated += value.get("time", 0)
        elif event["event"] == "STEP_END":
            if last is not None:
                steps.append((at - last - evaluated, value.get(key, value.get("global_" + key, 0))))
            last, evaluated = at, 0.0
    steps = steps[len(steps) // 2:]
    longest = 3 * statistics.median(seconds for seconds, _ in steps)
    kept = [step for step in steps if step[0] <= longest]
    return sum(count for _, count in kept) / sum(seconds for seconds, _ in kept)


if __name__ == "__main__":
    print(f"{sum(rate(path) for path in sys.argv[1:]):.6g} samples/s")
