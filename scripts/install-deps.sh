#!/usr/bin/env bash
# Installs the packages that Assay needs, if any are missing: says which, never removes or replaces
# what is installed. usage: scripts/install-deps.sh [build|test|lint]...
set -euo pipefail

build=(build-essential cmake ninja-build git ca-certificates libasio-dev libyaml-cpp-dev
       nlohmann-json3-dev libcli11-dev libfmt-dev libssl-dev libjpeg-dev)
test=(libgtest-dev libgmock-dev libbenchmark-dev python3 python3-jsonschema clang-format)
lint=(clang clang-tidy)

wanted=()
for group in "${@:-build}"; do
  case "$group" in
    build) wanted+=("${build[@]}") ;;
    test) wanted+=("${test[@]}") ;;
    lint) wanted+=("${lint[@]}") ;;
    *) echo "install-deps.sh: unknown group '$group' (build, test, lint)" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "note: this is not a Debian or Ubuntu system; please provide: ${wanted[*]}" >&2
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "Assay needs these packages, which are not installed: ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "error: installing them needs root. Run as root: apt-get install --no-remove ${missing[*]}" >&2
    exit 3
  fi
  as_root=(sudo)
fi
echo "Installing them with apt-get (nothing is removed)."
"${as_root[@]}" apt-get update -qq || echo "note: the package lists could not be renewed; trying with those at hand" >&2
if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-remove --no-install-recommends "${missing[@]}"; then
  echo "error: the packages could not be installed; see the lines above. Nothing was removed." >&2
  exit 3
fi
