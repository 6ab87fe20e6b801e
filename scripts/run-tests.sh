#!/usr/bin/env bash
# Runs the tests of a build folder. End-to-end tests that fail are run a second time, because they
# share the machine with all the others; those that pass then are named as flaky, and count as passed.
# The same applies to tests that were skipped because an installed program did not start.
# Skipped tests are named with what they lack (tests/needs.h). With CI=1 in the environment, it is an
# error if this system could have run one of them.
# usage: scripts/run-tests.sh BUILD_FOLDER [arguments of ctest]
set -uo pipefail
build=$1
shift
failed_list=$build/Testing/Temporary/LastTestsFailed.log  # lines of "number:name"
skipped_list=$build/Testing/Temporary/LastTestsDisabled.log
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -f "$failed_list" "$skipped_list"

ctest=(ctest --test-dir "$build" --output-on-failure --timeout 120)
# Most tests wait for something rather than compute.
"${ctest[@]}" --no-tests=error -j $((2 * $(nproc))) "$@" | tee "$log"
result=${PIPESTATUS[0]}

# Lines of "name: what it lacks" from the last run of ctest.
skipped_tests() {
  [ -s "$skipped_list" ] || return 0
  awk '
    NR == FNR { sub(/^[0-9]+:/, ""); wanted[$0] = 1; next }
    /^[0-9]+\/[0-9]+ Test: / { name = $0; sub(/^[^:]*: /, "", name) }
    name in wanted && /^needs / { lacks[name] = $0 }
    END { for (name in wanted) print name ": " (name in lacks ? lacks[name] : "no reason given") }
  ' "$skipped_list" "$build/Testing/Temporary/LastTest.log" | sort
}
skipped=$(skipped_tests)

# Tests that failed, and tests that were skipped because an installed program did not start.
touch "$failed_list"
awk -F: 'NR == FNR { broken[$0] = 1; next } { name = $0; sub(/^[0-9]+:/, "", name) } name in broken' \
  <(sed -n 's/: needs repair: .*//p' <<<"$skipped") "$skipped_list" >>"$failed_list" 2>/dev/null
if [ -s "$failed_list" ]; then
  failed=$(cut -d: -f2- "$failed_list" | sort)
  end_to_end=$("${ctest[@]}" -N -L e2e | sed -nE 's/^ *Test +#[0-9]+: //p' | sort)
  if [ -z "$(comm -23 <(echo "$failed") <(echo "$end_to_end"))" ]; then
    echo "Trying the end-to-end tests that failed, or could not begin, a second time"
    rm -f "$skipped_list"
    flaky=$failed
    if "${ctest[@]}" --rerun-failed; then
      result=0
    else
      flaky=$(comm -23 <(echo "$failed") <(cut -d: -f2- "$failed_list" | sort))
    fi
    still_skipped=$(skipped_tests)
    flaky=$(comm -23 <(echo "$flaky") <(sed 's/: needs .*//' <<<"$still_skipped" | sort))
    skipped=$(printf '%s\n%s\n' "$(sed '/: needs repair: /d' <<<"$skipped")" "$still_skipped" |
      sed '/^$/d' | sort)
    # The closing lines of the first run come last, where readers look for them.
    sed -n '/% tests passed,/,$p' "$log"
    [ -z "$flaky" ] || sed 's/^/flaky, passed the second time: /' <<<"$flaky"
  fi
fi

# to_be_had WHAT: whether this system has what a test lacked.
to_be_had() {
  case "$1" in
    "needs package "*)
      # Packages that this release does not have are left out by install-deps.sh, too.
      command -v apt-cache >/dev/null 2>&1 || return 1
      for package in ${1#needs package }; do
        [ -n "$(apt-cache show "$package" 2>/dev/null)" ] || return 1
      done ;;
    "needs gpu"*) [ -e /dev/nvidiactl ] ;;
    "needs root: "* | "needs system: "*) return 1 ;;
  esac
}

if [ -n "$skipped" ]; then
  echo "$(wc -l <<<"$skipped") skipped:"
  possible=
  while IFS= read -r line; do
    note=
    if to_be_had "${line#*: }"; then
      note=" (this system could run it)"
      possible=yes
    fi
    echo "  $line$note"
  done <<<"$skipped"
  case "${CI:-}" in
    '' | 0 | false) ;;
    *)
      if [ -n "$possible" ]; then
        echo "error: tests were skipped that this system could run: scripts/install-deps.sh test cluster" >&2
        [ "$result" -ne 0 ] || result=1
      fi ;;
  esac
fi
exit "$result"
