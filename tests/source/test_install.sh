#!/usr/bin/env bash
# 'cmake --install' after ./bench.sh: with nothing built but the targets that it names, everything that
# is installed is there, no two files have one name, and links among the documents lead somewhere.
# usage: test_install.sh BUILD CMAKE       BUILD: a build with ninja, in which those targets were built
set -euo pipefail
build=$1 cmake=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -e "$build/build.ninja" ] || { echo "needs system: a build by ninja"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { printf '%s\n' "$1"; exit 1; }

# targets NAME: what bench.sh has in this array.
targets() { sed -n "s/^$1=(\(.*\))\$/\1/p" bench.sh | tr ' ' '\n' | grep .; }

# install_built TARGET...: into $folder/prefix, from a folder that holds what these targets need and no
# other program or page.
install_built() {
  local copy=$folder/build prefix=$folder/prefix file target
  rm -rf "$copy" "$prefix"
  for target in "$@"; do
    grep -q "^build $target: " "$build/build.ninja" || continue  # without libtorch
    # Nodes of the graph of what it needs, itself among them.
    ninja -C "$build" -t graph "$target" | sed -nE 's#^.* \[label="('"$build"'/)?((bin|generated/install)/[^"]*)".*#\2#p'
  done | sort -u >"$folder/built"
  (cd "$build" && find . -name cmake_install.cmake && find generated/package -type f) >>"$folder/built"
  # The other manual pages come with the first.
  ! grep -q man/assay.1 "$folder/built" || (cd "$build" && find generated/install/man -type f) >>"$folder/built"
  ! grep -q man-full/ "$folder/built" || (cd "$build" && find generated/install/man-full -type f) >>"$folder/built"
  while read -r file; do
    [ -e "$build/$file" ] || fail "it was not built: $file"
    mkdir -p "$(dirname "$copy/$file")"
    ln -f "$build/$file" "$copy/$file" 2>/dev/null || cp "$build/$file" "$copy/$file"
  done <"$folder/built"
  find "$copy" -name cmake_install.cmake -exec sed -i "s#$build/#$copy/#g" {} +
  "$cmake" --install "$copy" --prefix "$prefix" >"$folder/log" 2>&1 ||
    { tail -n 5 "$folder/log"; fail "cmake --install fails after bench.sh built: $*"; }
  file=$(sort "$copy/install_manifest.txt" | uniq -d)
  [ -z "$file" ] || fail "installed twice: $file"
  "$prefix/bin/assay" version >/dev/null || fail "the installed program does not start"
  for file in share/man/man1/assay-run.1.gz share/bash-completion/completions/assay libexec/assay/assay-agent \
    share/fish/vendor_completions.d/assay.fish share/zsh/vendor-completions/_assay; do
    [ -s "$prefix/$file" ] || fail "not installed: $file"
  done
  file=$(find "$prefix" -xtype l)
  [ -z "$file" ] || fail "a link that leads nowhere: $file"
}

mapfile -t base < <(targets base)
mapfile -t train < <(targets train)
[ ${#base[@]} -gt 1 ] && [ ${#train[@]} -gt 0 ] || fail "bench.sh names its targets in another way"
install_built "${base[@]}"
[ ! -e "$folder/prefix/bin/assay-train" ] || fail "assay-train is installed, though it was not built"
code=0
said=$("$folder/prefix/bin/assay" compare a b 2>&1) || code=$?
[ $code -eq 3 ] && grep -q 'install Assay as a whole' <<<"$said" ||
  fail "without assay-full, 'assay compare' ends with $code and says: $said"
scripts/check-links.sh "$folder/prefix/share/doc/assay" || fail "dead links among the installed documents"
cmp README.md "$folder/prefix/share/doc/assay/README.md" || fail "another README.md was installed"

mapfile -t full < <(targets full)
install_built "${base[@]}" "${full[@]}"
[ -s "$folder/prefix/share/man/man1/assay-compare.1.gz" ] || fail "'assay compare' has no manual page"
"$folder/prefix/bin/assay" compare --help >/dev/null || fail "the installed 'assay compare' does not start"

if [ -x "$build/bin/assay-train" ]; then
  install_built "${base[@]}" "${train[@]}"
  [ -s "$folder/prefix/share/man/man1/assay-train.1.gz" ] || fail "assay-train has no manual page"
  [ -x "$folder/prefix/bin/assay-train" ] || fail "assay-train was not installed"
fi
echo "cmake --install: all right"
