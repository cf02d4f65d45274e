"""The documentation keeps up with the code: names, paths, lengths, docstrings."""

from __future__ import annotations

import ast
import html
import importlib
import inspect
import re
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorcfr
from support.paths import DOCS, ROOT
from tensorcfr import kernels
from tensorcfr.algorithms import DEEP_CFR, Record

PACKAGES = (
    "tensorcfr",
    "tensorcfr.abstraction",
    "tensorcfr.algorithms",
    "tensorcfr.analysis",
    "tensorcfr.deep",
    "tensorcfr.evaluation",
    "tensorcfr.exercises",
    "tensorcfr.formats",
    "tensorcfr.plots",
    "tensorcfr.solvers",
    "tensorcfr.storage",
    "tensorcfr.subgames",
    "tensorcfr.sweep",
    "tensorcfr.uncompiled",
    "tensorcfr.viewer",
)
"""The packages whose ``__all__`` is public."""
PAGES = sorted(
    [
        *DOCS.glob("*.md"),
        *DOCS.glob("results/*.md"),
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "scripts" / "README.md",
    ]
)
SOURCE = sorted((ROOT / "tensorcfr").rglob("*.py"))
FIFTEEN_MINUTES = 3500
"""Words: at about 230 a minute."""


def names() -> list[tuple[str, str]]:
    return [
        (package, name) for package in PACKAGES for name in importlib.import_module(package).__all__
    ]


def object_of(package: str, name: str) -> Any:
    return getattr(importlib.import_module(package), name)


def documented() -> dict[int, str]:
    """The objects of the API reference by identity, and the paths that it gives them."""
    found = {}
    for page in (DOCS / "reference").glob("*.md"):
        for path in re.findall(r"^::: (\S+)$", page.read_text("utf-8"), re.MULTILINE):
            package, _, name = path.rpartition(".")
            found[id(object_of(package, name))] = path
    return found


def test_the_api_reference_has_every_public_name() -> None:
    found = documented()
    assert [
        f"{package}.{name}"
        for package, name in names()
        if id(object_of(package, name)) not in found
    ] == []


def test_every_public_name_has_a_docstring() -> None:
    assert [f"{package}.{name}" for package, name in names() if not docstring(package, name)] == []


def test_every_public_member_has_a_docstring() -> None:
    """Methods, properties and fields of public classes; inherited ones where they are defined."""
    bare = []
    for package, name in names():
        thing = object_of(package, name)
        if not inspect.isclass(thing) or not thing.__module__.startswith("tensorcfr"):
            continue
        fields = fields_of(thing)
        for member, value in vars(thing).items():
            if member.startswith("_") or member in fields:
                continue
            if (inspect.isroutine(value) or isinstance(value, property)) and not inspect.getdoc(
                getattr(thing, member)
            ):
                bare.append(f"{package}.{name}.{member}")
        bases = [base for base in thing.__mro__[1:] if base.__module__.startswith("tensorcfr")]
        inherited = {field for base in bases for field in fields_of(base)}
        bare += [
            f"{package}.{name}.{field}"
            for field, has_text in fields.items()
            if not has_text and field not in inherited
        ]
    assert bare == []


def docstring(package: str, name: str) -> str:
    """That of a function, class or module constant."""
    thing = object_of(package, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        return inspect.getdoc(thing) or ""
    return constants().get(name, "")


@cache
def constants() -> dict[str, str]:
    """The texts under the constants of all modules."""
    found: dict[str, str] = {}
    for path in SOURCE:
        found |= texts_under(ast.parse(path.read_text("utf-8")).body)
    return found


def fields_of(thing: type) -> dict[str, bool]:
    """The fields of a class, and whether each has a text under it."""
    (body,) = ast.parse(inspect.getsource(thing)).body
    assert isinstance(body, ast.ClassDef)
    texts = texts_under(body.body)
    return {
        statement.target.id: statement.target.id in texts
        for statement in body.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not statement.target.id.startswith("_")
    }


def texts_under(body: list[ast.stmt]) -> dict[str, str]:
    found = {}
    for statement, text in pairwise(body):
        target = (
            statement.targets[0]
            if isinstance(statement, ast.Assign)
            else statement.target
            if isinstance(statement, ast.AnnAssign)
            else None
        )
        if (
            isinstance(target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[target.id] = text.value.value
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_takes_more_than_fifteen_minutes(page: Path) -> None:
    assert len(page.read_text("utf-8").split()) <= FIFTEEN_MINUTES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_exists(page: Path) -> None:
    """Relative links, and code that is the path of a Python file or folder."""
    text = page.read_text("utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    links = [
        page.parent / path
        for path in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", re.sub(r"`[^`\n]+`", "", prose))
    ]
    code = [
        path
        for path in re.findall(r"(?<![\w/.])(\w+/[\w/]*(?:\w\.\w+|/))(?![\w/])", text)
        if path.endswith(".py") or path.startswith(("tests/", "tensorcfr/", "docs/", "benchmarks/"))
        if "NAME" not in path and "__pycache__" not in path
    ]
    in_package = [
        ROOT / path if (ROOT / path).exists() else ROOT / "tensorcfr" / path for path in code
    ]
    missing = [str(path) for path in [*links, *in_package] if not path.exists()]
    assert missing == []


def test_the_glossary_names_what_the_code_has() -> None:
    source = "\n".join(path.read_text("utf-8") for path in SOURCE)
    words = set(re.findall(r"\w+", source))
    text = (DOCS / "glossary.md").read_text("utf-8").partition("## Words not to use")[0]
    cells = [line.split("|")[-2] for line in text.splitlines() if line.startswith("|")]
    names = [name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)]
    assert len(names) > 60
    assert [name for name in names if not set(name.split(".")) <= words] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    pages = [
        path.relative_to(DOCS).as_posix()
        for path in DOCS.rglob("*")
        if path.suffix in (".md", ".ipynb")
    ]
    assert [page for page in pages if page not in navigation] == []


def test_sessions_are_copied_without_prompts_and_outputs() -> None:
    """The copy button of the site takes the attribute ``data-copy`` of a block, if it has one."""
    pytest.importorskip("mkdocs")
    pygments = pytest.importorskip("pygments")
    lexers = pytest.importorskip("pygments.lexers")
    from pygments.formatters import HtmlFormatter

    from scripts.docs_site import on_page_content

    session = (
        ">>> def first(text: str) -> bool:\n...     return text < \"a\"\n>>> first('b')\nFalse\n\n"
    )

    def block(text: str, language: str) -> str:
        lexer = lexers.get_lexer_by_name(language)
        inside = pygments.highlight(text, lexer, HtmlFormatter(nowrap=True))
        return f'<div class="highlight"><pre><span></span><code>{inside}</code></pre></div>'

    plain = block("tensorcfr solve leduc\n", "bash")
    page = on_page_content(plain + block(session, "pycon") + plain, None, None, None)
    copied = [html.unescape(text) for text in re.findall(r'data-copy="([^"]*)"', page)]
    assert copied == ["def first(text: str) -> bool:\n    return text < \"a\"\nfirst('b')\n"]
    assert page.count(plain) == 2


@pytest.mark.parametrize(
    ("word", "page"), [("EFCE", "many-players"), ("export", "formats"), ("preflop", "large-games")]
)
def test_a_heading_has_the_word_that_people_search_for(word: str, page: str) -> None:
    """The search of the site ranks headings first."""
    headings = re.findall(r"^#+ (.*)", (DOCS / f"{page}.md").read_text("utf-8"), re.MULTILINE)
    assert [heading for heading in headings if word in re.findall(r"\w+", heading)]


def test_the_package_lists_each_name_once() -> None:
    assert sorted(set(dir(tensorcfr))) == dir(tensorcfr)
    listed = tensorcfr.__dir__()
    assert len(listed) == len(set(listed))


def test_the_arrays_are_where_compile_game_says() -> None:
    """It named a module without any."""
    text = tensorcfr.compile_game.__doc__ or ""
    (module,) = re.findall(r":mod:`([\w.]+)` declares all arrays", text)
    assert hasattr(importlib.import_module(module), "HistoryTree")


ARRAYS = ("parent", "first_child", "player", "infoset", "utility")


@pytest.mark.parametrize("where", ["README", "tensorcfr", "compile_game", "kernels"])
def test_the_arrays_and_the_passes_are_named(where: str) -> None:
    """A reader finds the flat arrays and the two passes from the front page and from ``help``."""
    text = {
        "README": (ROOT / "README.md").read_text("utf-8"),
        "tensorcfr": tensorcfr.__doc__ or "",
        "compile_game": tensorcfr.compile_game.__doc__ or "",
        "kernels": kernels.__doc__ or "",
    }[where]
    wanted = ("game.tree", "game.form", *ARRAYS, "backward", "forward")
    assert [word for word in wanted if word not in text] == []


@pytest.mark.parametrize("name", ARRAYS)
def test_the_front_page_has_the_types_of_the_arrays(name: str) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| `game.tree.{name}`"))
    array = getattr(tensorcfr.compile_game("kuhn").flat().tree, name)
    sizes = {"nodes": 58, "nodes + 1": 59, "terminals": 30, "players": 2}
    dtype, axes = re.findall(r"(\w+) \(([^)]*)\)", line)[0]
    assert array.dtype == np.dtype(dtype)
    assert array.shape == tuple(sizes[axis.strip()] for axis in axes.rstrip(",").split(","))


def test_the_version_is_said_once() -> None:
    """In the package: ``pyproject.toml`` reads it there, and ``CITATION.cff`` repeats it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"] == {
        "version": {"attr": "tensorcfr._util.version.__version__"}
    }
    found = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == tensorcfr.__version__


def test_the_extra_all_is_all() -> None:
    """But for those of developers, and for pygambit, which pip builds from source."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]

    def named(extra: str) -> set[str]:
        (text,) = extras[extra]
        return {*text.removeprefix("tensorcfr[").removesuffix("]").split(",")}

    found = named("standard") | named("all")
    assert found | {"all", "gambit", "test", "dev", "docs", "bench"} == {*extras}


@pytest.mark.parametrize(
    ("game", "algorithm"),
    [
        ("leduc", "cfr+"),
        ("goofspiel(cards=3)", "external_sampling"),
        pytest.param("kuhn", "cfr-d", marks=pytest.mark.full),
        pytest.param("kuhn", DEEP_CFR(learner="table"), marks=pytest.mark.full),
    ],
)
def test_the_file_format_lists_every_array(
    tmp_path: Path, game: str, algorithm: str | Record
) -> None:
    text = (DOCS / "file-format.md").read_text("utf-8")
    solution = tensorcfr.solve(tensorcfr.compile_game(game), algorithm, iters=2, keep_best=True)
    with np.load(solution.save(tmp_path / "solution")) as file:
        keys = list(file.files)

    def is_listed(key: str) -> bool:
        group = key.rpartition("/")[0]
        labels = key.endswith(("/text", "/text_offset")) and f"| `{group}` |" in text
        return labels or f"`{key}`" in text or f"`{group}/NAME`" in text

    assert [key for key in keys if not is_listed(key)] == []
