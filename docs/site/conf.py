# The documents as static pages with a search that needs no server: sphinx with MyST, all from Debian's
# packages. scripts/build-site.sh puts the sources in place and runs it.
import pathlib
import re

from sphinx.search.en import SearchEnglish

project = "Assay"
author = "the Assay authors"
copyright = author
version = release = open("VERSION", encoding="utf-8").readline().strip()
extensions = ["myst_parser"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["examples/**/*.md"]
html_theme = "furo"
html_title = f"Assay {version}"
html_show_sourcelink = False
html_copy_source = False
# Nothing of a page may differ from build to build, and nothing may be loaded from elsewhere.
html_last_updated_fmt = None
html_show_sphinx = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]


class SearchInBothLanguages(SearchEnglish):
    """English as Sphinx has it, and Chinese by pairs of characters: there are no blanks between its words."""
    lang = "english-and-chinese"
    js_splitter_code = """
function splitQuery(query) {
  return query.split(/[^\\p{Letter}\\p{Number}_]+/gu).flatMap(word =>
    (word.match(/\\p{Script=Han}+|\\P{Script=Han}+/gu) || []).flatMap(part => {
      const signs = Array.from(part);
      if (signs.length < 2 || !/\\p{Script=Han}/u.test(part)) return [part];
      return signs.slice(1).map((sign, i) => signs[i] + sign);
    }));
}
"""

    def split(self, input):
        words = []
        for part in re.findall(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+", input):
            han = "\u3400" <= part[0] <= "\u9fff" and len(part) > 1
            words += [part[i:i + 2] for i in range(len(part) - 1)] if han else [part]
        return words


html_search_language = SearchInBothLanguages.lang


# Long names in tables are broken, so that a table of three columns fits a page, and wide ones scroll.
STYLE = "<style>article td code{overflow-wrap:anywhere}article td,article th{min-width:7rem}</style>"

# What furo itself says on a page.
CHINESE = {
    "Search": "搜索", "Back to top": "回到顶部", "On this page": "本页内容", "Contents": "目录", "Next": "下一页",
    "Previous": "上一页", "Home": "首页", "Made with": "制作工具：", "Skip to content": "跳到正文",
    "Toggle site navigation sidebar": "显示或隐藏导航", "Toggle table of contents sidebar": "显示或隐藏本页目录",
    "Toggle Light / Dark / Auto color theme": "切换明暗主题", "Expand": "展开", "Menu": "菜单", "Index": "索引", "Light mode": "浅色",
    "Dark mode": "深色", "Hide navigation sidebar": "隐藏导航", "Hide table of contents sidebar": "隐藏本页目录",
    "Auto light/dark mode": "自动明暗",
}


def is_chinese(page):
    return page.startswith("docs/zh/") or page == "README.zh-CN"


def in_other_language(app, page):
    """The same page in the other language, or where that one begins."""
    if is_chinese(page):
        twin = {"README.zh-CN": "index"}.get(page, page.replace("docs/zh/", "docs/"))
        return twin if twin in app.env.all_docs else "index"
    twin = {"index": "README.zh-CN"}.get(page, page.replace("docs/", "docs/zh/", 1))
    return twin if twin in app.env.all_docs else "README.zh-CN"


def show_language(app, page, template, context, document):
    """A page says its language, for browsers, fonts and screen readers, and leads to pages of the same."""
    chinese = is_chinese(page)
    if chinese:
        context["language"] = "zh-CN"
    context["metatags"] = context.get("metatags", "") + STYLE
    groups = re.split(r'(?=<p class="caption")', context.get("furo_navigation_tree", ""))
    kept = [one for one in groups if chinese != re.sub(r"</p>.*", "", one, flags=re.S).isascii()]
    other = "English" if chinese else "简体中文"
    switch = f'<ul><li class="toctree-l1"><a class="reference internal" lang="{"en" if chinese else "zh-CN"}" ' \
             f'href="{context["pathto"](in_other_language(app, page))}">{other}</a></li></ul>'
    context["furo_navigation_tree"] = switch + "".join(kept)


def translate_furniture(app, failure):
    """What furo says on the pages in Chinese."""
    if failure:
        return
    said = re.compile(r'(?<=[>"])(\s*)(' + "|".join(map(re.escape, CHINESE)) + r')(\s*)(?=[<"])')
    for page in app.env.all_docs:
        if is_chinese(page):
            file = pathlib.Path(app.outdir, page + ".html")
            head, *article = file.read_text(encoding="utf-8").split("<article", 1)
            body, *rest = "".join(article).rsplit("</article>", 1)
            parts = [said.sub(lambda m: m[1] + CHINESE[m[2]] + m[3], part) for part in (head, *rest)]
            # One sentence a line is for writing: between Chinese sentences stands no blank.
            pieces = re.split(r"(<pre.*?</pre>)", body, flags=re.S)
            body = "".join(one if one.startswith("<pre") else re.sub(r"(?<=[\u3001\u3002\uff01-\uff1f])\n(?=\S)", "", one) for one in pieces)
            file.write_text(parts[0] + "".join(f"<article{body}</article>{part}" for part in parts[1:]), encoding="utf-8")


def setup(app):
    app.add_search_language(SearchInBothLanguages)
    # Behind furo's own.
    app.connect("html-page-context", show_language, priority=900)
    app.connect("build-finished", translate_furniture)
