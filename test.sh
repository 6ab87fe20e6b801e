#!/usr/bin/env bash
# Installs missing packages, builds everything and runs every test.
# usage: ./test.sh [--full] [arguments of ctest]
#   --full also runs the tests under AddressSanitizer and UBSan, short fuzzing, and clang-tidy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' test.sh; exit 0 ;; esac

full=no
if [ "${1:-}" = --full ]; then
  full=yes
  shift
fi

scripts/install-deps.sh build train test cluster
# A tree that was moved or copied needs a new configuration, for a build from scratch.
fresh=(--fresh "-DASSAY_UNITY_FILES=$(($(nproc) < 8 ? 0 : 6))")
! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" build/release/CMakeCache.txt || fresh=()
cmake --preset release "${fresh[@]}" -DASSAY_TESTS=ON -DASSAY_BENCHMARKS=ON -DASSAY_WERROR=ON
cmake --build --preset release
scripts/run-tests.sh build/release "$@"

if [ "$full" = yes ]; then
  scripts/install-deps.sh lint
  cmake --preset asan
  cmake --build --preset asan
  scripts/run-tests.sh build/asan "$@"
  scripts/fuzz.sh 30
  scripts/lint.sh
fi
