#!/usr/bin/env bash
# Fails if a source file is not formatted as by clang-format.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Another version formats some constructs differently.
format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$format" ] || ! "$format" --version | grep -q 'version 14\.'; then
  echo "needs package clang-format-14"
  exit 77
fi
find apps src train tests bench \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 |
  xargs -0 "$format" --dry-run --Werror
