#!/usr/bin/env bash
# Runs every fuzz target for a number of seconds. usage: scripts/fuzz.sh [SECONDS]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${1:-60}
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target fuzzers
for target in build/fuzz/bin/fuzz_*; do
  name=$(basename "$target")
  mkdir -p "build/fuzz/corpus/$name"
  mapfile -t seeds < <(xargs -r -d '\n' -I{} find {} -type d < "build/fuzz/tests/fuzz/$name.seeds")
  echo "$name for $seconds s"
  "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=0 \
    -artifact_prefix="build/fuzz/" "build/fuzz/corpus/$name" "${seeds[@]}" \
    2>&1 | tail -n 3
done
