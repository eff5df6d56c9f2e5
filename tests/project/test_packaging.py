"""What the package promises before any of its code runs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def _loaded_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(m.split('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_theory_imports_without_torch() -> None:
    modules = _loaded_after(
        "import nht_theory, nht_theory.runs.load, nht_theory.claims.validate,"
        " nht_theory.checkpoints, nht_theory.forecasting"
    )
    assert "torch" not in modules


def test_importing_the_package_is_cheap() -> None:
    assert not {"torch", "sympy", "pandas", "scipy", "matplotlib"} & _loaded_after(
        "import nht_theory"
    )


def test_the_version_has_one_value() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert f"version: {declared}\n" in (PROJECT / "CITATION.cff").read_text()


def test_the_citation_names_both_papers() -> None:
    text = (PROJECT / "CITATION.cff").read_text()
    assert "arXiv:2603.07323" in text
    assert "arXiv:2603.13331" in text


def test_ci_uses_the_install_and_test_commands_of_the_readme() -> None:
    readme = (PROJECT / "README.md").read_text()
    assert "pip install -e '.[dev]'" in readme
    assert "make test" in readme
    script = (PROJECT / ".ci" / "run").read_text()
    assert "pip install --quiet -e '.[dev]'" in script
    assert "\nmake test" in script
