#!/usr/bin/env bash
# Shows that two builds of the packages give the same bytes: builds the last commit in two folders with
# names of different lengths, at different times, in different time zones and languages, with different
# modes and numbers of compilers, the second time without a compiler cache; then compares every file, and
# shows the difference within one that differs. Takes twice the time of a build.
# usage: packaging/build-twice.sh [--first FOLDER] [--second FOLDER] [OUT]
#   --first, --second   the folders for the two copies of the source; default: below the folder for
#                       temporary files. An existing copy is built again.
#   OUT                 the folder for the packages; default: build/packages
# exit: 0 equal, 1 different, 2 usage, 3 a build failed
set -euo pipefail
usage() { sed -n '/^# usage/,/^set/s/^# //p' "$0"; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-twice.XXXXXX")
trap 'rm -rf "$work"' EXIT
first=$work/one
second=$work/another-folder/with-a-longer-name
while [[ "${1:-}" = -* ]]; do
  case "$1" in
    --first) first=$(realpath -m "${2:?--first needs a folder}"); shift ;;
    --second) second=$(realpath -m "${2:?--second needs a folder}"); shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "build-twice.sh: unknown option '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
[ $# -le 1 ] || { usage >&2; exit 2; }
out=$(realpath -m "${1:-build/packages}")
[ -z "$(git status --porcelain)" ] || echo "note: what is not committed is not in the packages" >&2
commit=$(git rev-parse HEAD)

# build FOLDER COMMAND...: packages of the commit, in a copy of the source in FOLDER.
build() {
  local folder=$1
  shift
  if [ ! -e "$folder/.git" ]; then
    mkdir -p "$(dirname "$folder")"
    git clone --quiet --no-checkout . "$folder"
  fi
  git -C "$folder" fetch --quiet "$PWD" HEAD
  git -C "$folder" checkout --quiet --force --detach "$commit"
  echo "== building ${commit:0:12} in $folder"
  SECONDS=0
  "$@" "$folder/packaging/build.sh" "$folder/build/packages" >"$work/log" 2>&1 ||
    { tail -n 40 "$work/log" >&2; echo "build-twice.sh: the build in $folder failed" >&2; exit 3; }
  echo "   took $SECONDS s"
}
stranger() { (umask 077; exec env -u LC_ALL TZ=Asia/Shanghai LANG=zh_CN.UTF-8 ASSAY_LANG=zh CCACHE_DISABLE=1 CMAKE_BUILD_PARALLEL_LEVEL=3 "$@"); }
build "$first" env
build "$second" stranger

# unpacked FILE FOLDER: everything that a package or archive contains, as files.
unpacked() {
  mkdir -p "$2"
  case "$1" in
    *.deb) (cd "$2" && ar x "$1" && mkdir control data && tar -C control -xf control.tar.* && tar -C data -xf data.tar.* &&
      for part in control data; do tar -tvf $part.tar.* >$part.list; done && rm control.tar.* data.tar.*) ;;
    *) tar -I zstd -C "$2" -xf "$1"; tar -I zstd -tvf "$1" >"$2/archive.list" ;;
  esac
}
different=0
while read -r sum file; do
  if [ "$sum" = "$(sha256sum "$second/build/packages/$file" | cut -d ' ' -f 1)" ]; then
    echo "equal      $sum  ${file#./}"
    continue
  fi
  different=1
  echo "DIFFERENT  ${file#./}"
  if command -v diffoscope >/dev/null; then
    diffoscope "$first/build/packages/$file" "$second/build/packages/$file" | head -n 100 || true
  else
    unpacked "$first/build/packages/$file" "$work/a/$file"
    unpacked "$second/build/packages/$file" "$work/b/$file"
    diff -rq --no-dereference "$work/a/$file" "$work/b/$file" | sed "s#$work/##g; s/^/   /" || true
    for list in "$work/a/$file"/*.list; do diff "$list" "$work/b/$file/${list##*/}" | head -n 10 || true; done
  fi
done <"$first/build/packages/SHA256SUMS"
for side in "$first" "$second"; do (cd "$side/build/packages" && ls); done | sort | uniq -u | sed 's/^/only one build made: /' >"$work/odd"
if [ -s "$work/odd" ]; then cat "$work/odd"; different=1; fi
rm -rf "$out"
mkdir -p "$(dirname "$out")"
cp -r "$first/build/packages" "$out"
[ "$different" -eq 0 ] || { echo "the two builds differ"; exit 1; }
echo "two builds, the same bytes; the packages are in $out"
