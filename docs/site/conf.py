# The documents as static pages with a search that needs no server: sphinx with MyST, all from Debian's
# packages. scripts/build-site.sh puts the sources in place and runs it.
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


def say_language(app, page, template, context, document):
    """The pages in Chinese say so, for browsers, fonts and screen readers."""
    if page.startswith("docs/zh/") or page == "README.zh-CN":
        context["language"] = "zh-CN"


def setup(app):
    app.add_search_language(SearchInBothLanguages)
    app.connect("html-page-context", say_language)
