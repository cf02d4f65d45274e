"""Docstrings, comments, messages and names follow the rules of ``scripts/words.py``."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import words


def test_there_are_no_offences() -> None:
    wrong = [f"{one.path}:{one.line}: {one.rule}: {one.text}" for one in words.offences()]
    assert not wrong, "\n".join(wrong)


FUNCTION = 'def f():\n    """{}"""\n'
CLASS = 'class A:\n    """{}"""\n'
FIELD = 'class A:\n    """A."""\n\n    x = 1\n    """{}"""\n'
PROPERTY = 'class A:\n    """A."""\n\n    @property\n    def x(self):\n        """{}"""\n'
COMMENT = "x = 1  # {}\n"
ERROR = 'def f():\n    raise ValueError(f"{{f}} {}")\n'
LONG = "Return " + "a word and " * 12 + "no more."
BAD = [
    ("verb", FUNCTION, "The regrets of an infoset."),
    ("verb", FUNCTION, "Numbers of an infoset."),
    ("verb", FUNCTION, "Returns the regrets."),
    ("verb", FUNCTION, "Count of the infosets."),
    ("verb", FUNCTION, "Whether the game is cut."),
    ("opening", PROPERTY, "Whether the game is cut."),
    ("opening", FIELD, "What the rule keeps."),
    ("opening", FIELD, "Likewise."),
    ("opening", CLASS, "How a player acts."),
    ("relative", FUNCTION, "Return what the rule keeps."),
    ("relative", COMMENT, "Whoever folds has none of the best hands."),
    ("relative", ERROR, "takes what a solver made"),
    ("relative", FUNCTION, "Return the value.\n\n    Args:\n        x: What to add.\n    "),
    ("no-noun", ERROR, "is no game of private hands"),
    ("subject", COMMENT, "Regrets come first.  Those of the trunk follow."),
    ("long", FUNCTION, LONG),
    ("word", COMMENT, "All sequences but for the empty one."),
    ("word", FUNCTION, "Return the sum beside the regret."),
]
GOOD = [
    (FUNCTION, "Count the infosets of a player."),
    (FUNCTION, "Return the strategy.\n\n    >>> f()  # what is no strategy\n    "),
    (FUNCTION, "Return ``what`` and `whoever`; there is no player."),
    (PROPERTY, "True if the game is cut."),
    (FIELD, "Regrets, float64 (sequences,)."),
    (COMMENT, "What if there are several?"),
    (COMMENT, "An iteration is no longer than before."),
    (ERROR, "is not a game of private hands"),
    (FUNCTION, LONG.replace("word and a", "word.  And a")),
]


def rules_broken(source: str, folder: Path) -> list[str]:
    path = folder / "made.py"
    path.write_text(source)
    return [one.rule for text in words.texts_of(path) for one in words.in_prose(text, "made.py")]


@pytest.mark.parametrize(("rule", "form", "text"), BAD)
def test_an_offence_is_found(rule: str, form: str, text: str, tmp_path: Path) -> None:
    assert rule in rules_broken(form.format(text), tmp_path)


@pytest.mark.parametrize(("form", "text"), GOOD)
def test_plain_english_is_none(form: str, text: str, tmp_path: Path) -> None:
    assert rules_broken(form.format(text), tmp_path) == []


def test_pages(tmp_path: Path) -> None:
    """Code, questions and headings are not read; paragraphs, items and tables are."""
    page = tmp_path / "page.md"
    page.write_text(
        "# What it is\n\nIt is a game.\nIt takes\nwhat is left.\n\n```\nwhat\n```\n\n"
        "Do you know what it is?\n\n* One.\n* This is no list.\n"
    )
    found = [
        (one.line, one.rule)
        for text in words.texts_of(page)
        for one in words.in_prose(text, "page.md")
    ]
    assert found == [(4, "relative"), (14, "no-noun")]


def test_names() -> None:
    source = "class Walk:\n    judged: int\n\ndef _walk(found):\n    own = found.kept\n"
    wrong = words.in_names(words.parse(source), "made.py")
    assert {(one.line, one.rule, one.text) for one in wrong} == {
        (1, "name", "Walk"),
        (2, "name", "judged"),
        (4, "binding", "found"),
        (5, "binding", "own"),
    }
    modules = {f"a/{name}.py": words.parse(source) for name in ("one", "two")}
    modules["b/two.py"] = words.parse("class Other: ...")
    shared = [(one.path, one.rule) for one in words.shared_names(modules)]
    assert shared == [
        ("a/one.py", "class"),
        ("a/two.py", "class"),
        ("a/two.py", "module"),
        ("b/two.py", "module"),
    ]
