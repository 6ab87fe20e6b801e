#!/usr/bin/env bash
# Fails for a test that the documents name and nobody wrote. A name is `Suite.Name` in the last column of
# a table of docs/documents/ or docs/dev/faults.md; an "…" stands for the rest of it, or for what is in between.
# usage: scripts/check-tested.sh [FILE]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files=("$@")
[ ${#files[@]} -gt 0 ] || files=(docs/documents/*.md docs/dev/faults.md)
exec python3 - "${files[@]}" <<'PYTHON'
import pathlib
import re
import sys

written = set()
for source in pathlib.Path("tests").rglob("*.cpp"):
    for suite, name in re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", source.read_text(), re.M):
        written.add(f"{suite}.{name}")

missing = 0
named = 0
for file in sys.argv[1:]:
    for number, line in enumerate(pathlib.Path(file).read_text().splitlines(), 1):
        if not line.startswith("|"):
            continue
        for name in re.findall(r"`([A-Z]\w*(?:…\w*)?\.[\w…]+)`", line.rsplit("|", 2)[-2]):
            named += 1
            pattern = re.compile(re.escape(name).replace("…", r"[\w.]*"))
            if not any(pattern.fullmatch(test) for test in written):
                print(f"{file}:{number}: there is no test {name}")
                missing += 1
print(f"{named} tests are named, {missing} of them are not there")
sys.exit(1 if missing or not named else 0)
PYTHON
