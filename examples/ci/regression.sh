#!/bin/sh
# Runs a suite and fails when it is slower than a base: all that a pipeline has to do.
# usage: regression.sh SUITE BASE [TOLERANCE]
#   BASE        a folder for the base; where there is none yet, this run becomes it
#   TOLERANCE   how much worse the headline may be; default: 5 %
# exit: 0 well, 7 a regression, 6 the run is INVALID twice in a row, else as 'assay run'
set -eu
suite=$1 base=$2 tolerance=${3:-5 %}
out=$(mktemp -d ./assay-ci.XXXXXX)
code=0
assay run "$suite" --out "$out" || code=$?
if [ "$code" -eq 6 ]; then  # a machine that was busy for a moment
  code=0
  assay run "$suite" --out "$out" || code=$?
fi
[ "$code" -eq 0 ] || exit "$code"
run=$(readlink -f "$out/latest")
if [ ! -e "$base/result.json" ]; then
  mkdir -p "$(dirname "$base")"
  cp -r "$run" "$base"
  echo "no base yet: this run is the base from now on ($base)"
  exit 0
fi
assay compare "$base" "$run" --fail-on "headline: $tolerance" --format markdown --output "$out/comment.md" || code=$?
cat "$out/comment.md"
exit "$code"
