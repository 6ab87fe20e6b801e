#!/usr/bin/env bash
# clang-tidy over every source file, or over those given. Configured apart, without precompiled
# headers: so it also shows a file that does not include what it uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset lint >/dev/null

# Headers with coroutines, and those that include them: clang 14 does not know libstdc++'s
# coroutines. Files on libtorch are left out, too: a minute each.
coroutine_headers() {
  local pattern='awaitable|co_await' found='' more
  while more=$(grep -rlE "$pattern" src apps --include='*.h' | sort) && [ "$more" != "$found" ]; do
    found=$more
    pattern="awaitable|co_await|\"($(sed -E 's#^(src|apps/[^/]+)/##' <<<"$found" | paste -sd'|'))\""
  done
  echo "$pattern"
}

if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find apps src train -name '*.cpp' -print0 | xargs -0 grep -LE "<torch/|torch\.h\"|$(coroutine_headers)" | sort)
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/lint --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option
