#!/usr/bin/env bash
# Installs the packages that Assay needs, if any are missing: names them, and never removes or replaces
# an installed one. usage: scripts/install-deps.sh [build|train|test|cluster|lint]...
set -euo pipefail

build=(build-essential cmake ninja-build git ca-certificates libasio-dev libyaml-cpp-dev
       nlohmann-json3-dev libcli11-dev libfmt-dev libssl-dev libzstd-dev libjpeg-dev
       libcurl4-openssl-dev libpugixml-dev librestinio-dev libhttp-parser-dev libsqlite3-dev
       libre2-dev libboost-dev libspdlog-dev libsodium-dev)
# The built-in training workloads; without them Assay still runs commands of your own.
train=(libtorch-dev libgloo-dev)
test=(libgtest-dev libgmock-dev libbenchmark-dev python3 python3-jsonschema python3-pil python3-jwt
      python3-cryptography python3-yaml python3-pandas zstd zsh fish)
# The documents as pages, and the check of the packages.
pages=(python3-sphinx python3-myst-parser furo lintian)
# References that results are compared with, and the required version of clang-format. Not every release
# has them.
compare=(python3-torch python3-torchvision python3-regex clang-format-14)
# Real daemons that the end-to-end tests start for themselves; never left running. Without PMIx's
# library (libpmix-bin brings it, under every name) Slurm 23.11 refuses batch jobs: "invalid account".
cluster=(openssh-client openssh-server iproute2 munge slurm-wlm libpmix-bin podman runc busybox-static
         slurmdbd mariadb-server prometheus chromium jupyter-notebook openmpi-bin libopenmpi-dev s3cmd)
lint=(clang-16 clang-tidy-16 libclang-rt-16-dev)

# A PyTorch with CUDA contains its own libtorch; Debian's, only for the CPU, would be a hundred unused
# packages.
if [ "$("$(dirname "${BASH_SOURCE[0]}")/find-torch.sh" | head -n 1)" = cuda ]; then train=(); fi

wanted=()
for group in "${@:-build}"; do
  case "$group" in
    build) wanted+=("${build[@]}") ;;
    train) wanted+=("${train[@]}") ;;
    test) wanted+=("${test[@]}" "${compare[@]}" "${pages[@]}") ;;
    cluster) wanted+=("${cluster[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    *) echo "install-deps.sh: unknown group '$group' (build, train, test, cluster, lint)" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "note: this is not a Debian or Ubuntu system; please provide: ${wanted[*]}" >&2
  exit 0
fi

# Assay builds without these; features that then cannot run say so.
optional() { case " ${train[*]} ${compare[*]} ${pages[*]} ${cluster[*]} " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }

# Whether this release has the package, according to the current lists.
known() { [ -n "$(apt-cache show "$1" 2>/dev/null)" ]; }

have_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

# Says what is left out if the release has no such package.
leave_out() {
  case "$1" in
    libtorch-dev) echo "note: this release has no package libtorch-dev: the training workloads are built with a PyTorch (see docs/training.md), or left out" >&2 ;;
    *) echo "note: this release has no package $1: going on without it" >&2 ;;
  esac
}

# is_missing PACKAGE: asked for, not installed, and not left out.
is_missing() {
  ! installed "$1" || return 1
  # Packages of libcurl exclude each other; any of them will do.
  [ "$1" != libcurl4-openssl-dev ] || ! installed libcurl4-gnutls-dev || return 1
  # Only libtorch uses Gloo, which brings a hundred packages.
  [ "$1" != libgloo-dev ] || installed libtorch-dev || known libtorch-dev || ! have_lists || return 1
}

missing=()
needed=()
for package in "${wanted[@]}"; do
  is_missing "$package" || continue
  # Requesting it again each time would take a minute, and root's password.
  if optional "$package" && have_lists && ! known "$package"; then
    leave_out "$package"
    continue
  fi
  missing+=("$package")
  optional "$package" || needed+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "Assay uses these packages, which are not installed: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    if [ ${#needed[@]} -eq 0 ]; then
      echo "note: installing them needs root; going on without them" >&2
      exit 0
    fi
    echo "error: installing them needs root. Run as root: apt-get install --no-remove ${missing[*]}" >&2
    exit 3
  fi
  as_root=(sudo)
fi

# Packages with daemons would start them, now and at every boot, but a test suite must not open ports.
keep_services_down() {
  [ ! -e /usr/sbin/policy-rc.d ] || return 0
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee /usr/sbin/policy-rc.d >/dev/null
  "${as_root[@]}" chmod 755 /usr/sbin/policy-rc.d
  trap '"${as_root[@]}" rm -f /usr/sbin/policy-rc.d' EXIT
}
disable_new_services() {
  command -v systemctl >/dev/null 2>&1 || return 0
  for package in "${available[@]}"; do
    case "$package" in
      openssh-server) "${as_root[@]}" systemctl disable ssh >/dev/null 2>&1 || true ;;
      munge) "${as_root[@]}" systemctl disable munge >/dev/null 2>&1 || true ;;
      slurm-wlm) "${as_root[@]}" systemctl disable slurmctld slurmd >/dev/null 2>&1 || true ;;
      slurmdbd) "${as_root[@]}" systemctl disable slurmdbd >/dev/null 2>&1 || true ;;
      mariadb-server) "${as_root[@]}" systemctl disable mariadb >/dev/null 2>&1 || true ;;
      prometheus) "${as_root[@]}" systemctl disable prometheus >/dev/null 2>&1 || true ;;
    esac
  done
}

echo "Installing them with apt-get (nothing is removed)."
"${as_root[@]}" apt-get update -qq || echo "note: the package lists could not be renewed; trying with those at hand" >&2
install() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-remove --no-install-recommends "$@"
}
if [ ${#needed[@]} -gt 0 ] && ! install "${needed[@]}"; then
  echo "error: the packages could not be installed; see the lines above. Nothing was removed." >&2
  exit 3
fi
# The lists are up to date now.
available=()
for package in "${missing[@]}"; do
  optional "$package" && is_missing "$package" || continue
  if known "$package"; then
    available+=("$package")
  else
    leave_out "$package"
  fi
done
[ ${#available[@]} -gt 0 ] || exit 0
keep_services_down
install "${available[@]}" ||
  echo "note: ${available[*]} could not be installed; going on without them" >&2
disable_new_services
