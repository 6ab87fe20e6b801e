#!/usr/bin/env bash
# Fails if a page of docs/zh and its original differ: in a section, code block, table row, list item, word
# in code or link that only one of them has. Comments in code may be translated. Every page for users has
# a translation.
# usage: scripts/check-translations.sh [PAGE...], such as tutorial.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec python3 - "$@" <<'PYTHON'
import collections
import pathlib
import posixpath
import re
import sys

sys.path.insert(0, "tests/docs")
sys.dont_write_bytecode = True
from examples import blocks_of

DOCS, CHINESE = pathlib.Path("docs"), pathlib.Path("docs/zh")
# In both languages as they are.
BILINGUAL = {"glossary.md"}
LINK = re.compile(r"\]\(([^) ]+)\)")


def without_comments(code):
    """Code as a translation must have it: its comments may be in another language."""
    lines = (re.sub(r"(^|\s+)#( .*)?$", "", line).rstrip() for line in code.split("\n"))
    return "\n".join(line for line in lines if line)


def sections_of(text):
    """(line, level, body) of each heading; headings within code are none."""
    fenced, found = False, [(1, 0, [])]
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else re.match(r"(#+) ", line)
        if heading:
            found.append((number, len(heading[1]), []))
        found[-1][2].append(line)
    return [(number, level, "\n".join(lines)) for number, level, lines in found]


def prose_of(body):
    body = re.sub(r"^```.*?^```$", "", body, flags=re.M | re.S)
    return "\n".join(line for line in body.split("\n") if not line.startswith("    "))


def targets(page, prose):
    """What is linked to, as if it were in English, without the part of a page."""
    for link in LINK.findall(prose):
        path = link.split("#")[0]
        if "://" in link or not path:
            if "://" in link:
                yield link
            continue
        yield re.sub(r"^docs/zh/", "docs/", posixpath.normpath(posixpath.join(posixpath.dirname(page), path)))


def differences(kind, original, translated):
    ours, theirs = collections.Counter(original), collections.Counter(translated)
    for what, count in (ours - theirs).items():
        yield f"lacks {kind} {what!r}" + (f" ({count} times)" if count > 1 else "")
    for what, count in (theirs - ours).items():
        yield f"has {kind} {what!r}, which the original has not" + (f" ({count} times)" if count > 1 else "")


def compare_sections(original, page, one, other):
    ours, theirs = prose_of(one), prose_of(other)
    code = [[(" ".join(block.words), without_comments(block.text)) for block in blocks_of(text)] for text in (one, other)]
    yield from differences("code", *code)
    for kind, pattern in (("table rows", r"^\|"), ("list items", r"^\s*(?:[-*]|\d+\.) ")):
        counts = [len(re.findall(pattern, text, re.M)) for text in (ours, theirs)]
        if counts[0] != counts[1]:
            yield f"has {counts[1]} {kind} for {counts[0]} of the original"
    yield from differences("the word in code", re.findall(r"`[^`]+`", ours), re.findall(r"`[^`]+`", theirs))
    yield from differences("the link to", targets(original, ours), targets(page, theirs))


def faults_of(name):
    original, page = DOCS / name, CHINESE / name
    if not page.exists():
        yield f"{page}: is missing: {original} has no translation"
        return
    ours, theirs = sections_of(original.read_text()), sections_of(page.read_text())
    if [level for _, level, _ in ours] != [level for _, level, _ in theirs]:
        at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a[1] != b[1]), min(len(ours), len(theirs)))
        where = ours[min(at, len(ours) - 1)][0]
        yield f"{page}: its headings are not those of {original}, from line {where} of the original on"
        return
    for (_, _, one), (line, _, other) in zip(ours, theirs):
        for fault in compare_sections(original.as_posix(), page.as_posix(), one, other):
            yield f"{page}:{line}: this section {fault}"


def pages_for_users():
    """What the index lists for them."""
    index = (DOCS / "README.md").read_text()
    for title in ("Use", "Operate", "Come from another system"):
        section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", index, re.M | re.S)[1]
        for link in LINK.findall(section):
            if link.endswith(".md") and not link.startswith(("dev/", "..", "zh/")):
                yield link


wanted = sys.argv[1:] or [name for name in dict.fromkeys(pages_for_users()) if name not in BILINGUAL]
faults = [fault for name in wanted for fault in faults_of(name)]
print("\n".join(faults))
sys.exit(1 if faults else 0)
PYTHON
