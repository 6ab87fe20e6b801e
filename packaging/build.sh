#!/usr/bin/env bash
# Builds the packages: assay, assay-train, assay-server and others as .deb, and everything as one archive
# that can be unpacked anywhere. Two builds of one commit must give the same bytes, also in other folders;
# packaging/build-twice.sh compares them.
# usage: packaging/build.sh [OUT] [CMAKE OPTION...]        default: build/packages
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m "${1:-build/packages}")
[ $# -eq 0 ] || shift
build=build/package
version=$(cat VERSION)
# The time of the commit is the time of every file in the packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
export SOURCE_DATE_EPOCH
# Nothing depends on the builder: manual pages, order and modes of files.
export LC_ALL=C.UTF-8 TZ=UTC
unset ASSAY_LANG LANGUAGE
umask 022
# Programs write the place in the source of each log line, relative to the top of the tree. A cache that
# makes paths relative would write other ones.
export CCACHE_BASEDIR=
paths="-ffile-prefix-map=$PWD/= -ffile-prefix-map=$PWD/$build/="
# Linked without names, so that the identifier of a program does not depend on names that the compiler
# makes up. CPack would take them out later.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DASSAY_TESTS=OFF -DASSAY_BENCHMARKS=OFF -DASSAY_UNITY_FILES=0 \
  -DCMAKE_C_FLAGS="$paths" -DCMAKE_CXX_FLAGS="$paths" -DCMAKE_EXE_LINKER_FLAGS=-s -DCMAKE_SHARED_LINKER_FLAGS=-s \
  -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_SKIP_INSTALL_ALL_DEPENDENCY=ON "$@"
site=(site)
/usr/bin/python3 -c "import sphinx, myst_parser, furo" 2>/dev/null || site=()  # assay-doc is left out
cmake --build "$build" --target programs "${site[@]}"
rm -rf "$build/_CPack_Packages" "$out"
mkdir -p "$out"
(cd "$build" && cpack -G DEB -B "$out")
# It has its own folder at the top; programs find links and conf wherever it lies.
stage="$build/archive/assay-$version"
rm -rf "$build/archive"
DESTDIR="$PWD/$stage" cmake --install "$build" --prefix / --strip >/dev/null
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=go=rX,u+rw \
  -C "$build/archive" -c "assay-$version" | zstd -q -12 -T1 -f -o "$out/assay-$version-$(uname -m).tar.zst"
rm -rf "$out/_CPack_Packages"
(cd "$out" && sha256sum ./*.deb ./*.tar.zst | tee SHA256SUMS)
