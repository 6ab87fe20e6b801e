#!/usr/bin/env bash
# Runs the quick suite's cases repeatedly with short settings, and prints findings against the evidence:
# an honest run has none. With --load, two busy loops run beside them.
# usage: scripts/honest-runs.sh [--load] BUILD_FOLDER TIMES [CASE...]
set -uo pipefail
load=0
[ "${1:-}" != --load ] || { load=1; shift; }
build=$(realpath "$1")
times=$2
shift 2
work=$(mktemp -d)
busy=()
trap 'for pid in "${busy[@]}"; do kill "$pid" 2>/dev/null; done; rm -rf "$work"' EXIT
if [ "$load" -eq 1 ]; then
  for _ in 1 2; do
    (while :; do :; done) &
    busy+=($!)
  done
fi
cat >"$work/honest.yaml" <<'YAML'
name: honest
vendor: cpu
telemetry: {interval: 500ms}
defaults: {limits: {time: 5m, stall: 60s}}
cases:
  - {case: null:native:cpu:1:2:1, config: {steps: 60, step_ms: 10, eval_every: 20}}
  - {case: matmul:native:cpu:1:2:1, config: {min_seconds: 0.7, size: 256}}
  - {case: gemm:libtorch:cpu:1:1:1, config: {seconds: 0.7}}
  - {case: membw:libtorch:cpu:1:1:1, config: {seconds: 0.7}}
  - {case: allreduce:libtorch:cpu:1:2:1, config: {sizes: [65536], seconds: 0.7}}
  - {case: bert-tiny:libtorch:cpu:1:2:1, config: {max_steps: 30, train_size: 2048, eval_size: 128}}
  - {case: resnet20:libtorch:cpu:1:1:1, config: {max_steps: 20, train_size: 1024, eval_size: 128}}
YAML
only=()
for name in "$@"; do only+=(--only "$name"); done
cd "$work" || exit 1
alarms=0
rounds=0
for ((i = 1; i <= times; ++i)); do
  "$build/bin/assay" run honest.yaml "${only[@]}" >run.log 2>&1
  if [ ! -e results/latest/result.json ]; then
    cat run.log
    exit 1
  fi
  found=$(python3 - results/latest/result.json "$build/../../conf/rules/default.yaml" <<'PYTHON'
import json, re, sys
result = json.load(open(sys.argv[1]))
# Rules about the evidence; rules that a short run or a busy machine violates are not counted here.
asked = {}
for block in re.split(r"\n  - id: ", open(sys.argv[2]).read())[1:]:
    aspect = re.search(r"\n    aspect: (\S+)", block)
    asked[block.split("\n")[0]] = aspect.group(1) if aspect else ""
counted = {"completeness", "integrity", "plausibility"}
for case in result["cases"]:
    for round in case["rounds"]:
        print("round", case["name"])
        for finding in round["findings"]:
            if asked.get(finding["rule"], "result") in counted or finding["severity"] == "incomplete":
                print("alarm", case["name"], finding["severity"], finding["rule"] + ":", finding["reason"])
        for name, metric in round["metrics"].items():
            if metric["origin"] == "claimed":
                print("alarm", case["name"], name, "is claimed")
for finding in result.get("findings", []):
    print("alarm run", finding["rule"] + ":", finding["reason"])
PYTHON
  ) || exit 1
  rounds=$((rounds + $(grep -c '^round' <<<"$found")))
  grep '^alarm' <<<"$found" && alarms=$((alarms + $(grep -c '^alarm' <<<"$found")))
  rm -rf results
done
echo "$rounds rounds, $alarms alarms"
[ "$alarms" -eq 0 ]
