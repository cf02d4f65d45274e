"""Write the tables of functions by task and of the words of arguments.

The first is in ``docs/looking.md``.  The second, in ``docs/reference/words.md``, has the words that
mean the same in Python, on the command line and in files of settings.

    python -m scripts.vocabulary

Both are made of the declarations themselves; ``tests/project/test_vocabulary.py`` compares them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

from benchmarks._common import table
from tensorcfr import Solver, compile_game, solve
from tensorcfr.analysis import robust_responses, solve_boards
from tensorcfr.cli.app import app
from tensorcfr.cli.commands import options_of
from tensorcfr.cli.guide import TASKS
from tensorcfr.compilers import game_size
from tensorcfr.games.holdem import Holdem
from tensorcfr.subgames import Match
from tensorcfr.sweep import sweep

from ._pages import write_parts

PAGES = {"wanted": Path("docs/looking.md"), "words": Path("docs/reference/words.md")}
"""Where each table is."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "solve": solve,
    "Solver": Solver,
    "sweep": sweep,
    "solve_boards": solve_boards,
    "compile_game": compile_game,
    "game_size": game_size,
    "Match": Match,
    "robust_responses": robust_responses,
}
"""Functions that have the words as arguments in Python; the first one with a word explains it."""
SPOT = {"oop", "ip", *inspect.signature(Holdem).parameters}
"""Keys of a spot's file."""
PYTHON = {"lock": "locks", "game": "games"}
"""Arguments that a command takes one by one."""


@cache
def commands() -> dict[str, dict[str, Any]]:
    """Return the options of all commands by their keys, without old names of commands."""
    group: Any = get_command(app)
    shown = {name: command for name, command in group.commands.items() if not command.hidden}
    return {name: options_of(command) for name, command in shown.items()}


@cache
def words() -> dict[str, dict[str, Any]]:
    """Return the places of each word that both Python and a command have: the Python functions, the
    commands, and the options."""
    found: dict[str, dict[str, Any]] = {}
    for name, options in commands().items():
        for key, option in options.items():
            python = PYTHON.get(key, key)
            having = [
                f for f, made in FUNCTIONS.items() if python in inspect.signature(made).parameters
            ]
            if having or key in SPOT:
                word = found.setdefault(key, {"python": python, "functions": having, "options": {}})
                word["options"][name] = option
    return dict(sorted(found.items()))


def meaning(word: str, functions: list[str]) -> str:
    """Return the first sentence of a docstring about an argument."""
    made = FUNCTIONS[functions[0]] if functions else Holdem
    text = inspect.getdoc(made) or ""
    said = re.search(rf"^    {word}: (.*?)(?=^    \w+: |^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if said is None:
        return ""
    sentence = re.split(r"(?<=[.;])\s", " ".join(said[1].split()))[0].rstrip(".;:")
    return re.sub(r":\w+:`[~.]?([^`]*)`", r"`\1`", sentence).replace("``", "`").replace("|", "\\|")


def tables() -> dict[str, str]:
    """Return the tables, by name."""
    wanted = [(what, f"`{command}`", f"`{python}`") for what, command, python in TASKS]
    rows = []
    for key, word in words().items():
        options, python = word["options"], word["python"]
        visible = [name for name, one in options.items() if not one.hidden]
        if key in SPOT or not visible:
            continue  # Spots have a page of their own; the help of a command lists its settings.
        said = f"`--{key.replace('_', '-')}`: {', '.join(visible)}"
        meant = meaning(python, word["functions"])
        rows.append((f"`{python}=`: {', '.join(word['functions'])}", said, f"`{key}`", meant))
    return {
        "wanted": table(["I want to", "command", "in Python"], wanted, left=range(3)),
        "words": table(["Python", "command", "settings", "meaning"], rows, left=range(4)),
    }


def main() -> None:
    """Write them."""
    for name, text in tables().items():
        write_parts(PAGES[name], "vocabulary", {name: text})


if __name__ == "__main__":
    main()
