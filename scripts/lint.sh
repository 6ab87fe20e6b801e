#!/usr/bin/env bash
# clang-tidy over every source file, or over those given. Needs a configured build/release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -f build/release/compile_commands.json ] || cmake --preset release >/dev/null
if [ $# -gt 0 ]; then files=("$@"); else 
  # clang 14 does not know libstdc++'s coroutines.
  mapfile -t files < <(find apps src train -name '*.cpp' -print0 | xargs -0 grep -LE 'co_await|awaitable|launch/(controller|round|fleet)\.h' | sort)
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/release --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option
