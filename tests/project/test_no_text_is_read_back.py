"""No decision is read off a sentence that this project made: kinds and fields decide.

A search for words in a reason, a note, a message or a label breaks as soon as the sentence is
worded otherwise, or names something that holds the word.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAID = {
    *("reason", "reasons", "note", "notes", "message", "problem", "remedy", "sentence"),
    *("sentences", "objection", "headline", "label", "stratum_label", "rule", "details"),
    *("identifier", "regime_reason", "said"),
}
"""Names under which this project keeps what it says."""
READ = {"startswith", "endswith", "split", "rsplit", "partition", "rpartition", "find", "index"}
READ |= {"removeprefix", "removesuffix", "search", "match", "fullmatch", "findall", "sub"}
ALLOWED = {
    # Parts of paths, which others named, and an expression that finds them.
    ("nht_theory/checkpoints/file_names.py", "label"),
    ("nht_theory/checkpoints/directory_units.py", "label"),
    ("nht_theory/runs/plan.py", "label"),
}


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
        return _name(node.args[0]) if node.args else ""
    return ""


def readings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each sentence that is searched for text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for operator, right in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.In | ast.NotIn):
                    words = isinstance(node.left, ast.Constant | ast.JoinedStr)
                    shown = _name(right)
                    if shown in SAID and (words or not shown.endswith("s")):
                        yield node.lineno, shown
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in READ:
                continue
            for said in (node.func.value, *node.args):
                if _name(said) in SAID:
                    yield node.lineno, _name(said)


def test_no_sentence_is_searched_for_words() -> None:
    found = []
    for package in ("nht_theory", "nht_train"):
        for path in sorted((ROOT / package).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            for line, name in readings(ast.parse(path.read_text())):
                if (where, name) not in ALLOWED:
                    found.append(f"{where}:{line}: {name}")
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'broke = "broke it" in forecast.reason',
        "kept = [note for note in notes if EPOCH not in note]",
        'if "NaN" not in str(note): pass',
        'number.identifier.startswith("verdict.")',
        'stratum_label.split(", ")',
        're.search("broke", str(objection))',
    ],
)
def test_the_search_finds_what_was_there(source: str) -> None:
    assert list(readings(ast.parse(source)))
