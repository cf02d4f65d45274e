"""The same word means the same everywhere, and the page that says so is what the script writes."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from scripts import vocabulary
from scripts._pages import page_with
from support.paths import ROOT
from tensorcfr.cli.guide import TASKS

SPOT = """
board = "QsJh2h8d3c"
pot = 100
stacks = 200
bets = "50%"
raises = "60%"
[ranges]
oop = "AA,KK,QQ,AKs"
ip = "AA-TT,AKs,AQs,AKo"
"""


def test_the_pages() -> None:
    for name, text in vocabulary.tables().items():
        page = (ROOT / vocabulary.PAGES[name]).read_text(encoding="utf-8")
        assert page == page_with(page, "vocabulary", {name: text}), (
            "run: python -m scripts.vocabulary"
        )


OWN_DEFAULTS = {
    # A strategy to look at needs few iterations, and a blueprint to begin with.
    ("iters", "play"),
    ("iters", "walkthrough"),
    ("algorithm", "walkthrough"),
    ("algorithm", "regrets"),
    ("checkpoints", "regrets"),
    ("seed", "play"),
    ("seed", "size"),
    ("threads", "solve"),
    ("threads", "spot"),
    # Nothing is said on the command line: the library's default, which its help names.
    ("seeds", "sweep"),
}


@pytest.mark.parametrize("key", list(vocabulary.words()))
def test_defaults_agree(key: str) -> None:
    """What a command does without an option is what Python does without the argument."""
    word: dict[str, Any] = vocabulary.words()[key]
    for command, option in word["options"].items():
        usual = {
            inspect.signature(vocabulary.FUNCTIONS[name]).parameters[word["python"]].default
            for name in word["functions"]
            if name == command or (name == "solve" and command in ("solve", "spot"))
        }
        if not usual or (key, command) in OWN_DEFAULTS or option.default in (None, []):
            continue
        assert option.default in usual, command


FORMS_OF_THEIR_OWN = ("algorithm", "iters", "seed", "lock", "checkpoints", "node", "game")
"""Words of which some commands take one, and others several."""


@pytest.mark.parametrize("key", list(vocabulary.words()))
def test_a_word_has_one_form(key: str) -> None:
    """Commands that have a word take the same kind of value for it."""
    forms = {
        (option.metavar, option.multiple, option.is_flag)
        for option in vocabulary.words()[key]["options"].values()
    }
    assert len(forms) == 1 or key in FORMS_OF_THEIR_OWN


def test_options_are_few() -> None:
    """There were 167 (findings, U16); settings are in a file. Tournaments have seven of them,
    responses to a model six, the viewer's library one, played hands fifteen, and a folded hand
    that is dealt two."""
    visible = [
        option
        for options in vocabulary.commands().values()
        for option in options.values()
        if not option.hidden
    ]
    assert len(visible) <= 131


@pytest.mark.full
def test_what_is_wanted_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of the page, line by line; the viewer and the plays wait for somebody."""
    monkeypatch.chdir(tmp_path)
    Path("spot.toml").write_text(SPOT)
    Path("printed.txt").write_text("iteration 1\nJ: [0.5, 0.5]\n")
    space: dict[str, Any] = {}
    exec(
        "from tensorcfr import *\nfrom tensorcfr.analysis import *\n"
        "from tensorcfr.compilers import game_size\nfrom tensorcfr.sweep import sweep\n"
        "from tensorcfr.subgames import Match\n",
        space,
    )
    for _, command, python in TASKS:
        if " view " not in command:
            exec(python, space)
    assert space["start"].policy.to_pandas().shape[1] == 4
