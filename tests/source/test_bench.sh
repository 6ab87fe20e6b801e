#!/usr/bin/env bash
# ./bench.sh: which libtorch it builds with, what it installs and builds, and what it says. cmake, apt,
# dpkg and nvidia-smi are stand-ins that write down how they are called; the PyTorch is a folder.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
python=$(command -v python3)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# fake NAME SCRIPT
fake() { printf '#!/bin/bash\n%s\n' "$2" >"$folder/bin/$1" && chmod +x "$folder/bin/$1"; }

# pytorch KIND: python3 finds one for cuda or cpu.
pytorch() {
  mkdir -p "$folder/python/torch/include/torch/csrc/api/include/torch" "$folder/python/torch/lib"
  touch "$folder/python/torch/"{__init__.py,include/torch/csrc/api/include/torch/torch.h,lib/libtorch_cpu.so}
  printf "__version__ = '2.11.0'\ncuda = None\n" >"$folder/python/torch/version.py"
  [ "$1" = cpu ] || touch "$folder/python/torch/lib/libtorch_cuda.so"
}

# prepare: a fresh tree on a machine with every package but libtorch's, no device and no PyTorch.
prepare() {
  rm -rf "${folder:?}"/*
  mkdir -p "$folder/bin" "$folder/tree/scripts" "$folder/python"
  cp "$source_dir/bench.sh" "$folder/tree"
  cp "$source_dir"/scripts/{build,find-torch,install-deps}.sh "$folder/tree/scripts"
  fake dpkg-query 'case "$*" in *libtorch-dev*|*libgloo-dev*) exit 1 ;; *) echo -n installed ;; esac'
  fake apt-cache 'echo "Package: $2"'
  fake apt-get "echo \"apt-get \$*\" >>$folder/calls"
  fake sudo '"$@"'
  fake python3 "exec $python -S \"\$@\""  # without this machine's packages
  fake nvidia-smi 'exit 9'
  fake cmake "echo \"cmake \$*\" >>$folder/calls
mkdir -p build/release/bin
case \"\$*\" in
  *--preset\ release*--fresh*)
    echo '-- assay-train: libtorch found'
    printf 'build assay-%s: phony\n' train full cloud-emulator >build/release/build.ninja
    printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nASSAY_TORCH_API:PATH=%s\n' \$PWD $folder/python/torch/include >build/release/CMakeCache.txt ;;
  --build*) printf '#!/bin/bash\necho assay \"\$@\"\ncat $folder/plan 2>/dev/null || true\n' >build/release/bin/assay
    cp build/release/bin/assay build/release/bin/assay-train
    chmod +x build/release/bin/assay* ;;
esac"
}
bench() {
  result=0
  output=$(PATH="$folder/bin:$PATH" PYTHONPATH="$folder/python" "$folder/tree/bench.sh" "$@" 2>&1) || result=$?
  calls=$(cat "$folder/calls" 2>/dev/null || true)
}
fail() { printf '%s\n--- output\n%s\n--- calls\n%s\n' "$1" "$output" "$calls"; exit 1; }
expect() { grep -q -- "$1" <<<"$output" || fail "expected in the output: $1"; }
expect_not() { ! grep -q -- "$1" <<<"$output" || fail "not expected in the output: $1"; }
installs() { grep -q 'apt-get install.*libtorch-dev' <<<"$calls"; }

prepare; pytorch cuda
bench
[ $result -eq 0 ] || fail "it ends with $result"
expect 'PyTorch 2.11.0 with CUDA is used for training'
expect '^assay run$'
! installs || fail "the CPU's libtorch was installed beside a PyTorch with CUDA"
grep -q -- '--fresh .*-DASSAY_UNITY_FILES=[06]$' <<<"$calls" || fail "it does not say how many files are compiled at a time"

: >"$folder/calls"
bench --repeat 1
grep -q 'fresh' <<<"$calls" && fail "configured again, though nothing has changed"
expect '^assay run --repeat 1$'

# Built for another libtorch before.
sed -i 's,ASSAY_TORCH_API.*,ASSAY_TORCH_API:PATH=/usr/include/torch,' "$folder/tree/build/release/CMakeCache.txt"
: >"$folder/calls"
bench
grep -q 'fresh' <<<"$calls" || fail "not configured again for the PyTorch with CUDA"

prepare; pytorch cpu; fake nvidia-smi 'echo "GPU 0: NVIDIA H200 (UUID: GPU-1)"'
bench
expect 'the PyTorch 2.11.0 of python3 is for the CPU alone'
installs || fail "no libtorch for the CPU"

prepare; fake nvidia-smi 'echo "GPU 0: NVIDIA H200 (UUID: GPU-1)"'
bench
expect 'python3 has no PyTorch'

prepare
bench
expect_not 'NVIDIA'
installs || fail "no libtorch for the CPU"

# Only what the suite needs is built, in front of it.
built() { grep -q "cmake --build.* $1\( \|\$\)" <<<"$calls"; }
prepare; pytorch cuda
bench
built assay-train || fail "the training workloads of quick were not built"
! built assay-cloud-emulator && ! built assay-full || fail "a program was built that quick does not need"
prepare; pytorch cuda
bench --web
built assay-full || fail "--web needs assay-full, which was not built"
prepare; pytorch cuda; echo '"command": ["/x/assay-micro", "null"]' >"$folder/plan"
bench micro
! built assay-train || fail "assay-train was built for a suite that does not train"
! built assay-full || fail "assay-full was built for a suite that runs here"
expect '^assay run micro$'
prepare; pytorch cuda; echo '"command": ["/x/assay-train", "gemm"]' >"$folder/plan"
bench mine.yaml --repeat 1
built assay-train || fail "assay-train was not built for a suite that trains"
expect 'Building what the suite needs besides: assay-train$'

# Progress while it compiles, and what the compiler said when it fails.
prepare; pytorch cuda
real=$(cat "$folder/bin/cmake")
fake cmake "${real#*$'\n'}
case \"\$*\" in --build*) for i in 1 2 3 4 5 6 7 8 9 10; do echo \"@\$i/10 Building CXX object x.o\"; done ;; esac"
bench
expect '5 of 10 steps, about .* left'
expect_not 'Building CXX object'
fake cmake "${real#*$'\n'}
case \"\$*\" in --build*) echo '@1/10 Building'; echo 'x.cpp:1: error: no'; exit 3 ;; esac"
bench
[ $result -eq 3 ] || fail "a failed build ends with $result"
expect 'x.cpp:1: error: no'
expect_not '^assay run'

# What it is, without installing or building anything.
prepare
for script in bench.sh test.sh; do
  cp "$source_dir/$script" "$folder/tree"
  result=0
  output=$(PATH="$folder/bin:$PATH" "$folder/tree/$script" --help 2>&1) || result=$?
  calls=$(cat "$folder/calls" 2>/dev/null || true)
  [ $result -eq 0 ] || fail "$script --help ends with $result"
  expect '^usage: \./\?'"$script"
  [ -z "$calls" ] || fail "$script --help does more than to say what it is"
done

# Without a configuration there is nothing to build.
prepare; fake cmake 'echo broken >&2; exit 1'
bench
[ $result -ne 0 ] || fail "went on without a configuration"
echo "bench.sh: all right"
