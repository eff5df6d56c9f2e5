"""MkDocs hook: the pages under formulas/ are made from the formula objects at build time.

In mkdocs.yml: ``hooks: [docs/generate_formulas.py]`` and ``exclude_docs: "*.py"``; the pages are
formulas/index.md and formulas/TOPIC.md, one for each of nht_theory.formulas.catalogue.TOPICS.
"""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from nht_theory.formulas.catalogue import TOPICS
from nht_theory.formulas.rendering import index_page, topic_page


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add one page per topic and their index to the files that MkDocs builds."""
    pages = {f"formulas/{topic}.md": topic_page(topic) for topic in TOPICS}
    pages["formulas/index.md"] = index_page()
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files
