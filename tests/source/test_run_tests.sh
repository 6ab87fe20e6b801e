#!/usr/bin/env bash
# scripts/run-tests.sh: a second try for end-to-end tests alone, and it says so; what is skipped.
set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/run-tests.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run TEST...: runs tests given as NAME:LABEL:COMMAND; sets result and output.
run() {
  rm -rf "${folder:?}"/*
  for test in "$@"; do
    IFS=: read -r name label command <<<"$test"
    printf 'add_test(%s sh -c "%s")\nset_tests_properties(%s PROPERTIES LABELS "%s" SKIP_RETURN_CODE 77)\n' \
      "$name" "$command" "$name" "$label"
  done >"$folder/CTestTestfile.cmake"
  result=0
  output=$(CI=${ci:-} "$script" "$folder" 2>&1) || result=$?
}
expect() {
  [ "$1" = "$2" ] || { echo "$3: expected '$2', got '$1'"; echo "$output"; exit 1; }
}
second_time="test -e $folder/tried || { touch $folder/tried && false; }"

run "good:unit:true" "late:e2e:$second_time"
expect "$result" 0 "an end-to-end test that passes the second time"
expect "$(tail -n 1 <<<"$output")" "flaky, passed the second time: late" "the last line"
expect "$(sed '1,/second time$/d' <<<"$output" | grep -c '1 tests failed out of 2')" 1 \
  "the summary of the first run, once more"

run "late:unit:$second_time"
expect "$result" 8 "a unit test is not tried again"
expect "$(grep -c flaky <<<"$output" || true)" 0 "no flaky tests"

run "broken:e2e:false" "late:e2e:$second_time"
expect "$result" 8 "an end-to-end test that always fails"
expect "$(tail -n 1 <<<"$output")" "flaky, passed the second time: late" "the other one"

# apt knows one package here.
mkdir "$folder.bin"
trap 'rm -rf "$folder" "$folder.bin"' EXIT
printf '#!/bin/sh\n[ "$2" != known ] || echo "Package: known"\n' >"$folder.bin/apt-cache"
chmod 755 "$folder.bin/apt-cache"
PATH=$folder.bin:$PATH

run "good:unit:true"
expect "$(grep -c skipped <<<"$output" || true)" 0 "nothing was skipped"

# skip NAME WHAT: a test that is skipped and says what it lacks.
skip() { echo "$1:unit:echo '$2'; exit 77"; }
for ci in "" 1; do
  run "good:unit:true" "$(skip other 'needs package known unknown')" \
    "$(skip mount 'needs system: a tmpfs')" "$(skip caches 'needs root: to drop caches')"
  expect "$result" 0 "what cannot be had is skipped, CI='$ci'"
  expect "$(tail -n 4 <<<"$output")" "3 skipped:
  caches: needs root: to drop caches
  mount: needs system: a tmpfs
  other: needs package known unknown" "the last lines"
done

for lacking in 'needs package known' 'needs repair: sshd' 'no words of ours'; do
  ci='' run "$(skip lazy "$lacking")"
  expect "$result" 0 "'$lacking' is named"
  expect "$(grep -c '^  lazy: .* (this system could run it)$' <<<"$output")" 1 "'$lacking'"
  ci=1 run "$(skip lazy "$lacking")"
  expect "$result" 1 "'$lacking' is an error in CI"
  expect "$(grep -c '^error: tests were skipped that this system could run' <<<"$output")" 1 "why"
done

ci=1 run "late:e2e:$second_time" "$(skip lazy 'needs package known')"
expect "$result" 1 "a second try forgets no skipped test"

begins_late="test -e $folder/tried || { touch $folder/tried; echo 'needs repair: sshd'; exit 77; }"
ci=1 run "good:unit:true" "late:e2e:$begins_late" "$(skip mount 'needs system: a tmpfs')"
expect "$result" 0 "an end-to-end test that can begin the second time"
expect "$(tail -n 3 <<<"$output")" "flaky, passed the second time: late
1 skipped:
  mount: needs system: a tmpfs" "the last lines"

ci=1 run "broken:e2e:echo 'needs repair: sshd'; exit 77"
expect "$result" 1 "an end-to-end test that can never begin"
expect "$(grep -c flaky <<<"$output" || true)" 0 "no flaky tests"

# Every skip says what it lacks in those words.
cd "$(dirname "$script")/.."
bare=$(grep -rnE 'GTEST_SKIP\(\)' tests --include='*.cpp' --include='*.h' |
  grep -vE 'needs(::|\.h)|missing(_for_[a-z_]+)?(\(\))?;|broken\(\);' || true)
expect "$bare" "" "skips without tests/needs.h"
