#!/usr/bin/env bash
# Builds targets of build/release and shows the progress: a bar with an estimate on a terminal, else a
# line now and then. The compiler's output goes to build/release/build.log, and is shown if it fails.
# usage: scripts/build.sh TARGET...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Mean CPU seconds of one step of the build (docs/dev/build.md): a first guess of the duration, which
# the observed pace replaces.
step_cost=3
cores=$(nproc)
log=build/release/build.log
terminal=
if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then terminal=yes; fi

duration() {
  if [ "$1" -lt 90 ]; then echo "$1 s"; else echo "$((($1 + 30) / 60)) min"; fi
}
# show DONE ALL: the bar, or a line at every tenth.
shown=-1
show() {
  local done=$1 all=$2 tenth=$(($1 * 10 / $2))
  # The rest at the pace so far, mixed with the usual pace, which weighs more near the beginning.
  local usual=$((step_cost * (all - done) / cores))
  local seen=$((done > 0 ? SECONDS * (all - done) / done : usual))
  local left=$(((usual * (all - done) + seen * done) / all))
  if [ -n "$terminal" ]; then
    local width=$((done * 30 / all)) bar
    printf -v bar '%*s' "$width" ''
    printf '\r\033[K  [%-30s] %d of %d, about %s left' "${bar// /#}" "$done" "$all" "$(duration "$left")" >&2
  elif [ "$tenth" -gt "$shown" ]; then
    shown=$tenth
    echo "  $done of $all steps, about $(duration "$left") left" >&2
  fi
}

SECONDS=0
steps=0
status=0
while IFS= read -r line; do
  printf '%s\n' "$line" >&3
  if [[ "$line" =~ ^@([0-9]+)/([0-9]+)\  ]]; then
    steps=${BASH_REMATCH[2]}
    [ "$steps" -lt 5 ] || show "${BASH_REMATCH[1]}" "$steps"
  fi
done 3>"$log" < <(NINJA_STATUS='@%f/%t ' cmake --build --preset release --target "$@" 2>&1 || echo "@failed $?")
[ -z "$terminal" ] || printf '\r\033[K' >&2
last=$(tail -n 1 "$log")
if [[ "$last" = @failed\ * ]]; then
  status=${last#@failed }
  grep -vE '^@([0-9]+/|failed)' "$log" | tail -n 60 >&2
  echo "error: the build failed; all of its output is in $log" >&2
elif [ "$steps" -ge 5 ]; then
  echo "  built in $(duration "$SECONDS")" >&2
fi
exit "$status"
