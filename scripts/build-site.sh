#!/usr/bin/env bash
# Builds the documents as static HTML with search, readable offline: open OUT/index.html.
# Needs python3-sphinx, python3-myst-parser and furo. A broken link or reference is an error.
# usage: scripts/build-site.sh [OUT]        default: build/site
set -euo pipefail
case "${1:-}" in -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$(realpath -m "${1:-build/site}")
python=/usr/bin/python3
for module in sphinx myst_parser furo; do
  "$python" -c "import $module" 2>/dev/null ||
    { echo "needs package python3-sphinx python3-myst-parser furo"; exit 77; }
done
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
# The tree in its original layout, so that links work as they do there.
cp VERSION LICENSE docs/site/conf.py ./*.md "$stage"
cp -r docs examples "$stage"
rm -rf "$stage/docs/site"
"$python" docs/site/make_index.py "$stage"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
# The search index is the same in every build: its order is Python's, its words are English.
export SOURCE_DATE_EPOCH PYTHONHASHSEED=0 LC_ALL=C.UTF-8
rm -rf "$out"
"$python" -m sphinx -q -W --keep-going -b html -d "$stage/.doctrees" "$stage" "$out"
rm -f "$out/.buildinfo"
# The search knows Chinese by pairs of characters, such as the middle two of the word for a training job.
grep -q '"\\u7ec3\\u4efb":' "$out/searchindex.js" ||
  { echo "the search finds no Chinese within a sentence: docs/site/conf.py"; exit 1; }
for page in docs/zh/README README.zh-CN; do
  grep -q '<html[^>]* lang="zh-CN"' "$out/$page.html" || { echo "$page.html is not marked as Chinese: docs/site/conf.py"; exit 1; }
done
if grep -q 'caption-text">Use<' "$out/docs/zh/suite.html" || ! grep -q 'lang="en"[^>]*>English<' "$out/docs/zh/suite.html" || ! grep -q 'placeholder="搜索"' "$out/docs/zh/suite.html"; then
  echo "docs/zh/suite.html leads to pages in English: docs/site/conf.py"
  exit 1
fi
grep -q '<html[^>]* lang="en"' "$out/docs/README.html" || { echo "docs/README.html is not marked as English"; exit 1; }
echo "$out/index.html"
