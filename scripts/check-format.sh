#!/usr/bin/env bash
# Fails when a source file is not as clang-format writes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Another version formats some constructs differently.
if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "skipped: clang-format 14 is not installed"
  exit 77
fi
find apps src train tests bench \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 |
  xargs -0 clang-format --dry-run --Werror
