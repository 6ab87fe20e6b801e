#!/usr/bin/env bash
# Fails if a file of src/ or train/ includes a folder that the table of docs/dev/architecture.md does
# not allow, if a folder has no row there, or if no file needs a permission.
# Also if two headers have the same name: stack traces and unity builds cannot tell them apart.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
table=docs/dev/architecture.md

twice=$(find apps src train bench tests -name '*.h' -printf '%f %p\n' -o -name '*.cuh' -printf '%f %p\n' |
  sort | awk '$1 == name { print place " and " $2 " have the same name" } { name = $1; place = $2 }')
if [ -n "$twice" ]; then
  echo "$twice"
  exit 1
fi

{
  # Rows of the table: "row folder used used ..."
  sed -nE '/^\| folder \|/d; s/^\| ([a-z_/]+) \| .* \| ([^|]*) \|$/row \1 \2/p' "$table" | tr -d '–' | tr ',' ' '
  find src train -mindepth 1 -maxdepth 1 -type d -printf 'folder %p\n'
  # Includes: "include file line path"
  grep -rnoE '^#include "[a-z_]+/[^"]+' src train \
    --include='*.h' --include='*.cpp' --include='*.cu' --include='*.cuh' |
    sed -E 's/^([^:]+):([0-9]+):#include "(.*)$/include \1 \2 \3/'
} | awk -v table="$table" '
  # The row of the longest folder that contains the path, as it is included.
  function row_of(path) {
    while (path != "" && !(path in row)) if (!sub(/\/[^\/]*$/, "", path)) path = ""
    return path
  }
  function fail(text) { print text; failed = 1 }
  $1 == "row" { row[$2] = NR; for (i = 3; i <= NF; ++i) allowed[$2, $i] = 1 }
  $1 == "folder" {
    sub(/^src\//, "", $2)
    if (!($2 in row)) fail(table ": there is no row for " $2)
  }
  $1 == "include" {
    file = $2; sub(/^src\//, "", file)
    user = row_of(file); used = row_of($4)
    if (used == "") fail($2 ":" $3 ": \"" $4 "\" is in no folder of " table)
    else if (user != used && !((user, used) in allowed))
      fail($2 ":" $3 ": " user " may not use " used " (" table ")")
    needed[user, used] = 1
  }
  END {
    for (pair in allowed) if (!(pair in needed)) {
      split(pair, folders, SUBSEP)
      fail(table ": " folders[1] " does not use " folders[2] ": take it out of its row")
    }
    exit failed
  }'
