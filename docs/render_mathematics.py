"""MkDocs hook: mathematics becomes MathML when the site is built, so that a page needs no script,
no font and no network to show it."""

from __future__ import annotations

import html
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from nht_theory.formulas.mathml import to_mathml

# What pymdownx.arithmatex (generic) makes of $...$ and $$...$$.
MARKED = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def drawn(found: re.Match[str]) -> str:
    """One formula as MathML, inside the element that marked it."""
    tag, opening, latex = found.groups()
    display = opening == "["
    mathml = to_mathml(html.unescape(latex).strip(), display=display)
    return f'<{tag} class="mathematics">{mathml}</{tag}>'


def on_page_content(content: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace every formula of a page.

    Raises:
        PluginError: a formula holds a command that is not known.
    """
    try:
        return MARKED.sub(drawn, content)
    except ValueError as error:
        raise PluginError(f"{page.file.src_path}: {error}") from error
