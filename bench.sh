#!/usr/bin/env bash
# Installs what is missing, builds Assay and benchmarks this machine with the default suite.
# usage: ./bench.sh [arguments of 'assay run']
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$source_dir/scripts/install-deps.sh" build train
cd "$source_dir"
# A tree that was moved or copied needs a new configuration.
if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source_dir" build/release/CMakeCache.txt; then
  echo "Configuring (build/release)"
  cmake --preset release --fresh -DASSAY_TESTS=OFF -DASSAY_BENCHMARKS=OFF >/dev/null
elif [ ! -x build/release/bin/assay-train ]; then
  # There may be a libtorch now.
  cmake --preset release >/dev/null
fi
echo "Building Assay (minutes the first time, seconds later)"
cmake --build --preset release --target programs
if [ ! -x build/release/bin/assay-train ] && [ $# -eq 0 ]; then
  echo "note: there is no libtorch here, so the training cases are left out (docs/training.md says how to build them)"
  set -- --only 'null*' --only 'matmul*'
fi
exec build/release/bin/assay run "$@"
