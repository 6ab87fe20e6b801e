# The documents as static pages with a search that needs no server: sphinx with MyST, all from Debian's
# packages. scripts/build-site.sh puts the sources in place and runs it.
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
