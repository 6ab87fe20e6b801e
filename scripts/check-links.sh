#!/usr/bin/env bash
# Fails if a relative link of a Markdown file, or its #heading, is broken.
# usage: scripts/check-links.sh [FOLDER]        default: this tree
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

# headings FILE: the anchors of a Markdown file, as hosting sites make them.
headings() {
  sed -nE '/^```/,/^```/d; s/^#+ +(.*)$/\1/p' "$1" | sed -E 's/`|\*//g; s/\[([^]]*)\]\([^)]*\)/\1/g' |
    tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

failed=0
while IFS=: read -r file line link; do
  link=${link#](}
  link=${link%)}
  case $link in http://* | https://* | mailto:*) continue ;; esac
  path=${link%%#*}
  target=$file
  [ -z "$path" ] || target=$(dirname "$file")/$path
  if [ ! -e "$target" ]; then
    echo "$file:$line: there is no '$path'"
    failed=1
  elif [ "$link" != "$path" ] && ! headings "$target" | grep -qxF -- "${link#*#}"; then
    echo "$file:$line: '$target' has no heading '${link#*#}'"
    failed=1
  fi
done < <(find . -name '*.md' -not -path './build/*' -not -path './results/*' -print0 |
  xargs -0 grep -noE '\]\([^) ]+\)')
exit $failed
