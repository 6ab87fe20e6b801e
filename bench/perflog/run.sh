#!/bin/sh
# PerfLog ingest against Python's json.loads per line, on the same log in the same run.
# usage: bench/perflog/run.sh [BUILD_DIR] [MEGABYTES]
set -eu
build=${1:-build/release}
megabytes=${2:-200}
bench=$build/bin/bench_perflog
[ -x "$bench" ] || { echo "no $bench: build the target bench_perflog first" >&2; exit 2; }
log=$(mktemp /tmp/perflog.XXXXXX)
trap 'rm -f "$log"' EXIT
"$bench" --generate "$log" $((megabytes * 1000000))
python3 - "$bench" "$log" <<'PY'
import json, os, subprocess, sys, time

bench, log = sys.argv[1:]
size = os.path.getsize(log)
lines = 0
with open(log, "rb") as f:
    for _ in f:
        lines += 1
print(f"log: {size / 1e6:.0f} MB, {lines} lines of {size / lines:.0f} bytes")

def python_once(limit=200_000):
    """CPU seconds per byte of the plainest reader: strip the token, json.loads, look at the loss."""
    read, count, total = 0, 0, 0.0
    start = time.process_time()
    with open(log, "rb") as f:
        for line in f:
            total += json.loads(line[10:])["value"]["loss"]
            read += len(line)
            count += 1
            if count == limit:
                break
    return read / (time.process_time() - start) / 1e9

# Turn and turn about, so that a busy machine slows both.
ours, python = 0.0, 0.0
for _ in range(3):
    rate, events, _ = subprocess.run([bench, "--ingest", log], capture_output=True, text=True,
                                     check=True).stdout.split()
    assert int(events) == lines, (events, lines)
    ours = max(ours, float(rate))
    python = max(python, python_once())
print(f"assay:  {ours:.3f} GB/s of one core (parse_file)")
print(f"python: {python:.3f} GB/s of one core (json.loads per line, {sys.version.split()[0]})")
print(f"ratio:  {ours / python:.1f}")
PY
