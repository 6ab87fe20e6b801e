#!/usr/bin/env bash
# clang-tidy over every source file, or over those given. Configured apart, without precompiled
# headers: so it also shows a file that does not include what it uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset lint >/dev/null

# Files on libtorch are left out: a minute each.
if [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <(find apps src train -name '*.cpp' -print0 | xargs -0 grep -LE '<torch/|torch\.h"' | sort)
fi
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/lint --quiet --warnings-as-errors='*' \
  --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-builtin-macro-redefined \
  --extra-arg=-D__cpp_impl_coroutine=201902L --extra-arg=-DASIO_HAS_CO_AWAIT \
  --extra-arg=-DASIO_HAS_STD_COROUTINE
