#!/usr/bin/env bash
# Writes files that follow from the options that the programs declare: conf/options/PROGRAM.yaml, and
# in docs/ the tables between "<!-- options: PROGRAM [WORKLOAD] -->" and "<!-- options: end -->".
#   update-options.sh [--check] [BUILD]
# BUILD is the folder of a build (build/release). With --check nothing is written: it fails if
# something would change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
check=
if [ "${1:-}" = --check ]; then check=yes; shift; fi
bin=${1:-build/release}/bin
new=$(mktemp)
trap 'rm -f "$new"' EXIT
failed=0

# put FILE: replaces the contents of FILE with those of $new.
put() {
  cmp -s "$new" "$1" && return
  if [ -n "$check" ]; then
    echo "$1 is not what the programs declare; run scripts/update-options.sh:"
    diff "$1" "$new" | head -20 || true
    failed=1
  else
    cp "$new" "$1"
    echo "updated $1"
  fi
}

mkdir -p conf/options
for program in assay-micro assay-train; do
  "$bin/$program" --options-yaml >"$new"
  put "conf/options/$program.yaml"
done
for page in $(grep -rlE '^<!-- options: assay-' docs); do
  awk -v bin="$bin" '
    /^<!-- options: end -->$/ { skip = 0 }
    !skip { print }
    /^<!-- options: assay-/ {
      command = bin "/" $3 ($4 == "-->" ? "" : " " $4) " --options-markdown"
      while ((command | getline line) > 0) print line
      close(command)
      skip = 1
    }' "$page" >"$new"
  put "$page"
done
exit $failed
