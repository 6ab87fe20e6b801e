#!/usr/bin/env bash
# Fails for a function of an unnamed namespace with the name of one that a header of the same folder
# declares. If files are compiled together (ASSAY_UNITY), it could hide that one from the other files:
# they would call another function, without any warning of the compiler.
# usage: scripts/check-names.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 - <<'PYTHON'
import pathlib
import re
import sys

# At the beginning of a line, as everything in a namespace is.
function = re.compile(
    r"^(?!namespace|using|struct|class|enum|template|static_assert|#|//|\s|\})"
    r"(?:\[\[[^\]]*\]\] )?[\w:<>,&*\[\] ]*?[ &*>](\w+)\(", re.M)
unnamed = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
# One overload for each type, by design.
overloaded = {"to_json", "decode_json", "fields"}

faults = 0
folders = [f for top in ("src", "train", "apps") for f in sorted(pathlib.Path(top).iterdir()) if f.is_dir()]
for folder in folders:
    declared = {}
    for header in sorted(folder.rglob("*.h")):
        for name in function.findall(header.read_text()):
            declared.setdefault(name, header)
    for source in sorted(folder.rglob("*.cpp")):
        for part in unnamed.findall(source.read_text()):
            for name in sorted(set(function.findall(part)) & set(declared) - overloaded):
                print(f"{source}: {name}() has the name of one in {declared[name]}")
                faults += 1
sys.exit(1 if faults else 0)
PYTHON
