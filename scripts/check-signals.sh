#!/usr/bin/env bash
# Fails for a test that calls kill(2) itself: for a process that it did not find, -1, that would mean
# every process of the machine. tests/send_signal.h refuses that. A test may signal itself, check with
# signal 0 whether a process exists, and end a group that it leads.
# usage: scripts/check-signals.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
! grep -rnE '(^|[^[:alnum:]_])::kill(pg)?\(' tests --include='*.cpp' --include='*.h' |
  grep -vE '^tests/send_signal\.h:|::kill\(::getpid\(\), |::kill\(.*, 0\)|::kill\(-pid, '
