"""MkDocs hook: the page on the evidence shows the table and the limits of validation/README.md."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

SOURCE = Path(__file__).resolve().parents[1] / "validation" / "README.md"
PAGE, MARK = "explanation/evidence.md", "<!-- validation/README.md -->"


def evidence() -> str:
    """Everything below the title; a link into validation/ becomes the path it leads to."""
    text = SOURCE.read_text(encoding="utf-8").partition("\n")[2]
    text = re.sub(r"<!-- .*? -->\n", "", text)
    text = re.sub(r"\[page\]\(([^)]*)\)", r"`validation/\1`", text)
    return re.sub(r"\[([^\]]*)\]\((?!http)([^)]*)\)", r"\1 (`validation/\2`)", text)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put it where the page asks for it."""
    del config, files
    return markdown.replace(MARK, evidence()) if page.file.src_uri == PAGE else markdown
