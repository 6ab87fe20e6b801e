#!/usr/bin/env bash
# Remakes the pictures of README and documents, from a real run: docs/images/report.png with Chromium
# and docs/images/terminal.svg, an animated terminal. Needs chromium and python3-pyte.
# usage: scripts/make-pictures.sh [BUILD_FOLDER] [SUITE [OPTION...]]        default: build/release, quick
# Use a quiet machine: on a busy one the pictures show the verdict INVALID.
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=$(realpath "${1:-build/release}/bin")
typed=" quick"
[ $# -lt 2 ] || printf -v typed ' %q' "${@:2}"
for tool in chromium script; do
  command -v "$tool" >/dev/null || { echo "make-pictures.sh: needs package $tool" >&2; exit 3; }
done
/usr/bin/python3 -c 'import pyte' 2>/dev/null || { echo "make-pictures.sh: needs package python3-pyte" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/session.sh" <<END
cd "$work"
stty cols 100 rows 30
echo '\$ assay run$typed'
"$bin/assay" run$typed
END
status=0
TERM=xterm-256color script -q -e -O "$work/output" -T "$work/timing" -c "bash $work/session.sh" || status=$?
case $status in 0 | 6) ;; *) echo "make-pictures.sh: assay run ended with $status" >&2; exit 5 ;; esac
mkdir -p docs/images
/usr/bin/python3 scripts/terminal_svg.py "$work/output" "$work/timing" docs/images/terminal.svg "$work"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1200,1000 \
  --user-data-dir="$work/profile" --screenshot=docs/images/report.png "file://$(realpath "$work/results/latest")/report.html" >/dev/null 2>&1
ls -l docs/images/report.png docs/images/terminal.svg
