#!/bin/sh
# Training throughput of assay-train against Python PyTorch (Debian's 1.13, eager) on the CPU: same
# model, batch, threads and optimizer, on one batch that both hold in memory, in one run.
# (resnet20, resnet50, bert-tiny, llama-tiny)
# usage: bench/train/run.sh [BUILD_DIR] [THREADS] [ROUNDS] [WORKLOAD]...
set -eu
build=${1:-build/release}
threads=${2:-$(nproc)}
rounds=${3:-3}
[ $# -lt 3 ] && shift $# || shift 3
program=$build/bin/assay-train
[ -x "$program" ] || { echo "no $program: build the target assay-train first" >&2; exit 2; }
/usr/bin/python3 -c 'import torch, torchvision' 2>/dev/null ||
  { echo "/usr/bin/python3 has no torch and torchvision (python3-torch, python3-torchvision)" >&2; exit 2; }
folder=$(mktemp -d /tmp/bench-train.XXXXXX)
trap 'rm -rf "$folder"' EXIT
exec_dir=$(cd "$(dirname "$0")" && pwd)
OMP_NUM_THREADS=$threads /usr/bin/python3 "$exec_dir/compare.py" "$program" "$folder" "$threads" "$rounds" "$@"
