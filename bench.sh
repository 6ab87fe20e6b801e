#!/usr/bin/env bash
# Installs what is missing, builds Assay and benchmarks this machine: its accelerators where it has
# some that can be used, else its CPU. usage: ./bench.sh [arguments of 'assay run']
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$source_dir"

{ read -r torch; read -r torch_root; read -r torch_version; } < <(scripts/find-torch.sh)
case "$torch" in
  cuda) echo "PyTorch $torch_version with CUDA is used for training ($torch_root)" ;;
  *)
    if devices=$(timeout 10 nvidia-smi -L 2>/dev/null) && [ -n "$devices" ]; then
      has=$([ "$torch" = cpu ] && echo "the PyTorch $torch_version of python3 is for the CPU alone" ||
        echo "python3 has no PyTorch")
      echo "note: this machine has NVIDIA devices, but $has: training is built for the CPU." >&2
      echo "      'pip install torch' in an environment of python3, then ./bench.sh again, measures the devices (docs/training.md)" >&2
    fi
    ;;
esac
scripts/install-deps.sh build train

cached() { sed -n "s/^$1:[A-Z]*=//p" build/release/CMakeCache.txt 2>/dev/null; }
# A tree that was moved or copied needs a new configuration, and so does another libtorch.
if [ "$(cached CMAKE_HOME_DIRECTORY)" != "$source_dir" ] ||
  { [ "$torch" = cuda ] && [[ "$(cached ASSAY_TORCH_API)" != "$torch_root"/* ]]; }; then
  echo "Configuring (build/release)"
  configured=$(cmake --preset release --fresh -DASSAY_TESTS=OFF -DASSAY_BENCHMARKS=OFF)
  grep '^-- assay-train' <<<"$configured" || true
elif [ ! -x build/release/bin/assay-train ]; then
  # There may be a libtorch now.
  cmake --preset release >/dev/null
fi
echo "Building Assay (minutes the first time, seconds later)"
cmake --build --preset release --target programs
if [ ! -x build/release/bin/assay-train ] && [ $# -eq 0 ]; then
  echo "note: there is no libtorch here, so the training cases are left out (docs/training.md says how to build them)"
  set -- quick --only 'null*' --only 'matmul*'
fi
exec build/release/bin/assay run "$@"
