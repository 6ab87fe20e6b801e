#!/usr/bin/env bash
# Makes real runs of short cases of the quick suite on this machine and compares runs that do not differ: every FASTER or
# SLOWER is a false alarm. Each comparison has its own runs, of one round each and alternating, so that other work of
# the machine affects both sides. Ends with 1 if there are more alarms than the stated rate suggests.
# usage: scripts/aa-comparisons.sh [--rounds N] BUILD_FOLDER COMPARISONS [CASE...]
set -euo pipefail
rounds=4
[ "${1:-}" != --rounds ] || { rounds=$2; shift 2; }
build=$(realpath "$1")
comparisons=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/aa.yaml" <<'YAML'
name: aa
vendor: cpu
telemetry: {interval: 500ms}
defaults: {limits: {time: 5m, stall: 60s}}
cases:
  - {case: null:native:cpu:1:1:1, config: {steps: 50, step_ms: 10, jitter: 0.3}}
  - {case: matmul:native:cpu:1:1:1, config: {min_seconds: 0.6, size: 256}}
  - {case: bert-tiny:libtorch:cpu:1:1:1, config: {max_steps: 24, train_size: 1024, eval_size: 64}}
YAML
only=()
for name in "$@"; do only+=(--only "$name"); done
cd "$work"
for ((i = 1; i <= comparisons; ++i)); do
  for ((round = 1; round <= rounds; ++round)); do
    for side in a b; do
      # Rules that a busy machine violates (its load) make a run INVALID; those are not counted here.
      "$build/bin/assay" run aa.yaml "${only[@]}" --out "$i/$side" >run.log 2>&1 || true
      [ -e "$i/$side/latest/result.json" ] || { cat run.log; exit 1; }
    done
  done
  "$build/bin/assay" compare "$i/a" "$i/b" --tolerance 0 --invalid-too -o "$i.json"
  rm -rf "$i"
done
python3 - "$rounds" ./*.json <<'PYTHON'
import json, math, sys
alarms = tests = alarmed = 0
spreads = {}
for path in sys.argv[2:]:
    found = [(case["name"], metric) for case in json.load(open(path))["new"][0]["cases"]
             for metric in case["metrics"] if metric["headline"]]
    wrong = [(name, metric) for name, metric in found if metric["verdict"] not in ("SAME", "UNSURE")]
    for name, metric in found:
        spreads.setdefault(name, []).append(metric["spread"])
    for name, metric in wrong:
        print("alarm", name, metric["verdict"], f"{metric['change']:+.2%}", f"p {metric['adjusted_p']:.3g}")
    tests += len(found)
    alarms += len(wrong)
    alarmed += bool(wrong)
n = len(sys.argv) - 2
for name, values in sorted(spreads.items()):
    print(f"{name}: the rounds spread by {sorted(values)[len(values) // 2]:.2%} (median)")
print(f"{n} comparisons with {sys.argv[1]} rounds on each side, {tests} headlines: {alarmed} comparisons with an alarm, {alarms} alarms")
# The number of n alarms that has a chance of 1 % if 5 % are false.
most = next(k for k in range(n + 1)
            if sum(math.comb(n, i) * 0.05**i * 0.95 ** (n - i) for i in range(k + 1)) >= 0.99)
sys.exit(0 if n > 0 and tests > 0 and alarmed <= most else 1)
PYTHON
