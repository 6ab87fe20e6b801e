#!/usr/bin/env bash
# JPEG decode + augmentation per core: Assay against Pillow/torchvision on the same generated files,
# turn by turn in one run; then the loader. usage: bench/data/run.sh [BUILD_FOLDER]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${1:-build/release}
bench=$build/bin/bench_data
python=/usr/bin/python3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$bench" --generate "$folder" 200
du -sb "$folder/train" | awk '{ printf "200 JPEGs, %.0f bytes each on average\n", $1 / 200 }'
compare=yes
"$python" -c 'import torchvision, PIL' 2>/dev/null || compare=no
[ $compare = yes ] || echo "note: no python3-torchvision and python3-pil; Assay alone"
ours=() theirs=()
for _ in 1 2 3 4 5; do
  ours+=("$("$bench" --decode "$folder" 2)")
  [ $compare = no ] || theirs+=("$("$python" bench/data/pillow_decode.py "$folder" 2)")
done
median() { printf '%s\n' "$@" | sort -g | sed -n 3p; }
a=$(median "${ours[@]}")
echo "Assay:  $a images per CPU second (median of ${ours[*]})"
if [ $compare = yes ]; then
  b=$(median "${theirs[@]}")
  echo "Pillow: $b images per CPU second (median of ${theirs[*]})"
  awk -v a="$a" -v b="$b" 'BEGIN { printf "ratio:  %.2f\n", a / b }'
fi
for threads in 1 2; do
  echo "loader, $threads threads: $("$bench" --pipeline "$folder" $threads)"
done
"$bench" --benchmark_min_time=0.3

# Text as tokens: this repository's documents and sources, four times over.
for _ in 1 2 3 4; do cat docs/*.md docs/dev/*.md src/*/*.h src/*/*.cpp; done > "$folder/text.txt"
du -sb "$folder/text.txt" | awk '{ printf "tokens of %.1f MB of text\n", $1 / 1e6 }'
"$build/bin/bench_tokens" "$folder/text.txt" 8192
