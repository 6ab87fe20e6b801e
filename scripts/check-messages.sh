#!/usr/bin/env bash
# Fails when a text of the covered folders has no translation in conf/lang, when a translation has other
# placeholders than its text, and when it is of nothing that Assay says. Exits with 77 without Python's YAML.
set -euo pipefail
python3 -c 'import yaml' 2>/dev/null || { echo "python3-yaml is not installed"; exit 77; }
exec "$(dirname "${BASH_SOURCE[0]}")/messages.py" --check
