#!/usr/bin/env bash
# Installs what is missing, builds Assay and benchmarks this machine with the default suite.
# usage: ./bench.sh [arguments of 'assay run']
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$source_dir/scripts/install-deps.sh" build
cd "$source_dir"
if [ ! -f build/release/build.ninja ]; then
  echo "Configuring (build/release)"
  cmake --preset release -DASSAY_TESTS=OFF -DASSAY_BENCHMARKS=OFF >build-release.log 2>&1 ||
    { cat build-release.log >&2; exit 3; }
  rm -f build-release.log
fi
echo "Building Assay (minutes the first time, seconds later)"
cmake --build --preset release --target programs
exec build/release/bin/assay run "$@"
