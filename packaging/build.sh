#!/usr/bin/env bash
# Builds the packages: assay, assay-train and assay-server as .deb and all of it as one archive that can
# be unpacked anywhere. Two builds of one commit give the same bytes.
# usage: packaging/build.sh [OUT]        default: build/packages
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m "${1:-build/packages}")
build=build/package
# The time of the commit is the time of every file in the packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
export SOURCE_DATE_EPOCH
umask 022
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DASSAY_TESTS=OFF -DASSAY_BENCHMARKS=OFF \
  -DCMAKE_INSTALL_PREFIX=/usr
cmake --build "$build" --target programs
rm -rf "$build/_CPack_Packages"
mkdir -p "$out"
(cd "$build" && cpack -G DEB -B "$out")
# Its own folder at the top; links and conf are found from wherever it lies.
stage="$build/archive/assay-$(cat VERSION)"
rm -rf "$build/archive"
DESTDIR="$PWD/$stage" cmake --install "$build" --prefix / --strip >/dev/null
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
  -C "$build/archive" -c . | zstd -q -19 -T1 -f -o "$out/assay-$(cat VERSION)-$(uname -m).tar.zst"
rm -rf "$out/_CPack_Packages"
(cd "$out" && sha256sum ./*.deb ./*.tar.zst | tee SHA256SUMS)
