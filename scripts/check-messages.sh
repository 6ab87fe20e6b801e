#!/usr/bin/env bash
# Fails if a text of the covered folders has no translation in conf/lang, if a translation and its text have
# different placeholders, or if a translation is unused. Exits with 77 without Python's YAML.
set -euo pipefail
python3 -c 'import yaml' 2>/dev/null || { echo "python3-yaml is not installed"; exit 77; }
exec "$(dirname "${BASH_SOURCE[0]}")/messages.py" --check
