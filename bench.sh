#!/usr/bin/env bash
# Installs missing packages, builds what the chosen suite needs and benchmarks this machine: its
# accelerators if it has usable ones, else its CPU.
# usage: ./bench.sh [arguments of 'assay run']
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$source_dir"
case "${1:-}" in
  -h | --help)
    sed -n '2,4s/^# //p' bench.sh
    [ ! -x build/release/bin/assay ] || { echo && exec build/release/bin/assay run --help; }
    exit 0
    ;;
esac

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
  # With many processors, more groups of files are faster than larger ones.
  files=$(($(nproc) < 8 ? 0 : 6))
  configured=$(cmake --preset release --fresh -DASSAY_TESTS=OFF -DASSAY_BENCHMARKS=OFF -DASSAY_UNITY_FILES=$files)
  grep '^-- assay-train' <<<"$configured" || true
elif [ ! -x build/release/bin/assay-train ]; then
  # There may be a libtorch now.
  cmake --preset release >/dev/null
fi

# The suite says which programs it needs, once there is an assay to ask.
assay=build/release/bin/assay
# install-files: so that cmake --install can follow (docs/install.md).
base=(assay assay-agent assay-micro assay-nvml install-files)
train=(assay-train train-page)
full=(assay-full full-pages)
# needed PROGRAM...: those that this configuration can build; assay-train needs a libtorch.
needed() {
  local program
  for program in "$@"; do
    ! grep -q "^build $program: " build/release/build.ninja || echo "$program"
  done
}
echo "Building Assay (minutes the first time, seconds later)"
if [ $# -eq 0 ] || [ "${1#-}" != "$1" ]; then  # quick or gpu-quick: both train
  wanted=("${train[@]}")
  # These need servers and clients, which assay does not have itself.
  case " $*" in *" --push"* | *" --web"* | *" --challenge"*) wanted+=("${full[@]}") ;; esac
  mapfile -t more < <(needed "${wanted[@]}")
  scripts/build.sh "${base[@]}" "${more[@]}"
else
  scripts/build.sh "${base[@]}"
  # A suite that cannot be planned without them may need all.
  wanted=("${train[@]}" "${full[@]}" assay-cloud-emulator)
  if plan=$("$assay" run "$@" --dry-run --format json 2>/dev/null); then
    wanted=()
    ! grep -q '/assay-train"' <<<"$plan" || wanted+=("${train[@]}")
    ! grep -q '"modelarts"' <<<"$plan" || wanted+=(assay-cloud-emulator)
  fi
  mapfile -t more < <(needed "${wanted[@]}")
  if [ ${#more[@]} -gt 0 ]; then
    echo "Building what the suite needs besides: ${more[*]}"
    scripts/build.sh "${more[@]}"
  fi
fi
exec "$assay" run "$@"
