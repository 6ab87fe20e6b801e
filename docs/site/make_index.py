"""Writes STAGE/index.md: the site's front page and its table of contents, from the index in docs/README.md.
A page that the index does not name is an error: nobody would find it."""
import pathlib
import re
import sys

stage = pathlib.Path(sys.argv[1])
index = (stage / "docs/README.md").read_text(encoding="utf-8")
groups, named = [], set()
for section in re.split(r"^## ", index, flags=re.M)[1:]:
    title, text = section.split("\n", 1)
    pages = []
    for link in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", text):
        page = (pathlib.PurePosixPath("docs") / link).as_posix()
        parts = []
        for part in page.split("/"):
            parts.pop() if part == ".." else parts.append(part)
        page = "/".join(parts)
        if page not in named:
            named.add(page)
            pages.append(page)
    groups.append((title.strip(), pages))
chinese = (stage / "docs/zh/README.md").read_text(encoding="utf-8")
for section in re.split(r"^## ", chinese, flags=re.M)[1:]:
    title, text = section.split("\n", 1)
    pages = dict.fromkeys(f"docs/zh/{link}" for link in re.findall(r"\]\((\w[^)#]*\.md)\)", text))
    groups.append((title.strip(), [page for page in pages if page not in named]))
    named.update(pages)
groups.insert(next(i for i, (title, _) in enumerate(groups) if not title.isascii()), ("简体中文", ["README.zh-CN.md", "docs/zh/README.md"]))
named.update(groups[-1][1] + ["docs/zh/README.md"])
present = {path.relative_to(stage).as_posix() for path in stage.rglob("*.md")}
missing = sorted(present - named - {"docs/README.md", "README.md", "README.zh-CN.md", *(page for page in present if page.startswith("examples/"))})
if missing:
    sys.exit("docs/README.md does not name: " + ", ".join(missing))
lines = [(stage / "README.md").read_text(encoding="utf-8"), ""]
for title, pages in [("Start", ["docs/README.md"]), *groups]:
    lines += ["```{toctree}", ":hidden:", f":caption: {title}", "", *[page[:-3] for page in pages], "```", ""]
(stage / "index.md").write_text("\n".join(lines), encoding="utf-8")
(stage / "README.md").unlink()
# Links to the front page.
for path in stage.rglob("*.md"):
    up = "../" * (len(path.relative_to(stage).parts) - 1)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(rf"\]\({re.escape(up)}README\.md([)#])", rf"]({up}index.md\1", text), encoding="utf-8")
