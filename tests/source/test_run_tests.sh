#!/usr/bin/env bash
# scripts/run-tests.sh: a second try for end-to-end tests alone, and it says so.
set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/scripts/run-tests.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run TEST...: runs tests given as NAME:LABEL:COMMAND; sets result and output.
run() {
  rm -rf "${folder:?}"/*
  for test in "$@"; do
    IFS=: read -r name label command <<<"$test"
    printf 'add_test(%s sh -c "%s")\nset_tests_properties(%s PROPERTIES LABELS "%s")\n' \
      "$name" "$command" "$name" "$label"
  done >"$folder/CTestTestfile.cmake"
  result=0
  output=$("$script" "$folder" 2>&1) || result=$?
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
