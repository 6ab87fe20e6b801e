#!/usr/bin/env bash
# Runs the tests of a build folder. End-to-end tests that fail are tried a second time, because they
# share the machine with all the others; those that pass then are named as flaky, and count as passed.
# usage: scripts/run-tests.sh BUILD_FOLDER [arguments of ctest]
set -uo pipefail
build=$1
shift
failed_list=$build/Testing/Temporary/LastTestsFailed.log  # lines of "number:name"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -f "$failed_list"

ctest=(ctest --test-dir "$build" --output-on-failure --timeout 120)
# Most tests wait for something rather than compute.
"${ctest[@]}" --no-tests=error -j $((2 * $(nproc))) "$@" | tee "$log"
result=${PIPESTATUS[0]}
if [ "$result" -ne 0 ] && [ -s "$failed_list" ]; then
  failed=$(cut -d: -f2- "$failed_list" | sort)
  end_to_end=$("${ctest[@]}" -N -L e2e | sed -nE 's/^ *Test +#[0-9]+: //p' | sort)
  if [ -z "$(comm -23 <(echo "$failed") <(echo "$end_to_end"))" ]; then
    echo "Trying the end-to-end tests that failed a second time"
    if "${ctest[@]}" --rerun-failed; then
      result=0
      flaky=$failed
    else
      flaky=$(comm -23 <(echo "$failed") <(cut -d: -f2- "$failed_list" | sort))
    fi
    # The closing lines of the first run stand last, where they are looked for.
    sed -n '/% tests passed,/,$p' "$log"
    [ -z "$flaky" ] || sed 's/^/flaky, passed the second time: /' <<<"$flaky"
  fi
fi
exit "$result"
