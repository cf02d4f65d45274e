"""The index of scripts has every script and its pages; pages of results name their scripts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.paths import DOCS, ROOT

INDEX = (ROOT / "scripts" / "README.md").read_text("utf-8")
SCRIPTS = sorted(
    path.stem for path in (ROOT / "scripts").glob("*.py") if not path.stem.startswith("_")
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
WRITTEN = re.compile(r"<!-- [\w -]+: written by scripts/(\w+)\.py -->")
PAGES = {
    page: sorted(set(WRITTEN.findall(page.read_text("utf-8"))))
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
}
GENERATED = {page: scripts for page, scripts in PAGES.items() if scripts}


def row(script: str) -> str:
    """The line of the index on a script."""
    (line,) = (line for line in INDEX.splitlines() if line.startswith(f"| [{script}]"))
    return line


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_index_has_every_script(script: str) -> None:
    assert f"[{script}]({script}.py)" in INDEX


def test_the_index_has_no_other_script() -> None:
    assert sorted(re.findall(r"\[\w+\]\((\w+)\.py\)", INDEX)) == SCRIPTS


@pytest.mark.parametrize("page", GENERATED, ids=lambda page: page.stem)
def test_the_index_says_who_writes_a_page(page: Path) -> None:
    link = f"(../{page.relative_to(ROOT).as_posix()})"
    assert [script for script in GENERATED[page] if link not in row(script)] == []


@pytest.mark.parametrize(
    "page",
    [page for page in GENERATED if page.parent.name == "results"],
    ids=lambda page: page.stem,
)
def test_a_page_of_results_names_its_scripts(page: Path) -> None:
    """In its text: readers of the site do not see comments."""
    text = COMMENT.sub("", page.read_text("utf-8"))
    shown = set(re.findall(r"scripts[./](\w+)", text))
    assert [script for script in GENERATED[page] if script not in shown] == []
