#!/usr/bin/env bash
# Fails when a source file is not as clang-format writes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
find apps src tests bench \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 |
  xargs -0 clang-format --dry-run --Werror
