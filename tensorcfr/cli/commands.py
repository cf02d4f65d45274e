"""Commands in groups, with options from a file of settings, and with old names of options.

An option that is declared as hidden is a *setting*: the help of its command lists it by its key in
the TOML file that ``--settings`` names. A key at the top of the file is for all commands that have
it, and a key in a table for the command of that name:

    memory_limit = "2GiB"

    [solve]
    keep_best = true

On the command line, settings are accepted for one more version, with a warning.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .._util.argument_checks import brief
from ..errors import suggest

OPTION = "--settings"
RENAMED: Mapping[str, Mapping[str, str]] = {
    "holdem": {
        "--hands": "--rows",
        "--line": "--node",
        "--export": "--output",
        "--picture": "--plot",
    },
    "boards": {"--line": "--node"},
    "play": {"--seat": "--player"},
    **{name: {"--force": ""} for name in ("chart", "draw", "evaluate", "export", "plot", "sweep")},
}
"""New names by old names of options and by command; a later version drops the old names. An option
without a new name is not needed any more."""
SPOT = "game board oop ip pot stacks bets raises"
RARE: Mapping[str, str] = {
    "boards": "algorithm precision",
    "chart": "algorithm iters",
    "evaluate": "lock",
    "holdem": "of",
    "play": SPOT,
    "regrets": "seed",
    "solve": "nodes strategy",
    "spot": "of",
    "sweep": "processes",
    "view": "street",
    "walkthrough": "seed",
}
"""Keys of options that are settings of this command, but options of other commands."""


def warn(message: str) -> None:
    """Print a warning about a form that a later version drops."""
    typer.echo(f"tensorcfr: {message}", err=True)


def key_of(parameter: Any) -> str:
    """Return the key of an option in a file of settings: its long name, ``memory_limit``."""
    name: str = max(parameter.opts, key=len)
    return name.lstrip("-").replace("-", "_")


def options_of(command: Any) -> dict[str, Any]:
    """Return the options of a command by their keys."""
    return {key_of(one): one for one in command.params if one.param_type_name == "option"}


class Command(TyperCommand):
    """Command whose help lists settings separately, and which accepts old names of options."""

    def __init__(self, name: str | None, **options: Any) -> None:
        super().__init__(name, **options)
        for key, option in options_of(self).items():
            option.hidden |= key in RARE.get(name or "", "").split()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        rest = super().parse_args(ctx, list(self._with_new_names(args)))
        for key, option in options_of(self).items():
            source = ctx.get_parameter_source(option.name)
            if option.hidden and source is not None and source.name == "COMMANDLINE":
                warn(f"{max(option.opts, key=len)} goes into the file of {OPTION}: {key} = ...")
        return rest

    def _with_new_names(self, args: Sequence[str]) -> Iterator[str]:
        renamed = RENAMED.get(self.name or "", {})
        for at, word in enumerate(args):
            if word == "--":
                yield from args[at:]
                return
            name, equals, value = word.partition("=")
            if name not in renamed:
                yield word
            elif new := renamed[name]:
                warn(f"{name} is called {new} now")
                yield f"{new}{equals}{value}"
            else:
                warn(f"{name} is not needed: pictures and tables are replaced")

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: D102
        super().format_options(ctx, formatter)
        settings = [(key, one.help or "") for key, one in options_of(self).items() if one.hidden]
        if settings:
            with formatter.section(f"Settings, keys of the TOML file of {OPTION}"):
                formatter.write_dl(settings)


class Group(TyperGroup):
    """Commands by purpose, with a file of settings for all of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        return super().parse_args(ctx, _settings_first(args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: D102
        listed: list[Any] = [one for one in self.commands.values() if not one.hidden]
        for panel, commands in groupby(listed, lambda one: one.rich_help_panel):
            with formatter.section(str(panel)):
                width = formatter.width - 20
                formatter.write_dl(
                    [(str(one.name), one.get_short_help_str(width)) for one in commands]
                )


def _settings_first(args: Sequence[str]) -> list[str]:
    """Return the words of the command line with the option of the settings file in front."""
    # The group itself takes --settings, so typer would not find the option after a command.
    own, rest, words = [], [], iter(args)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == OPTION:
            own += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            (own if word.startswith(f"{OPTION}=") else rest).append(word)
    return own + rest


def read_settings(path: Path, commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Read a file of settings.

    Returns:
        Values of options by command, then by the name of the parameter.

    Raises:
        ValueError: The file is not TOML, or has a key that the command, or every command, lacks.
        OSError: The file cannot be read.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: it is nested too deeply") from None
    options = {name: options_of(command) for name, command in commands.items()}
    found: dict[str, dict[str, Any]] = {name: {} for name in commands}
    for key, value in given.items():
        if isinstance(value, dict):
            if key not in commands:
                raise ValueError(
                    f"{path}: there is no command {brief(key)}; {suggest(key, commands)}"
                )
            continue
        having = [name for name in commands if key in options[name]]
        if not having:
            known = sorted({one for own in options.values() for one in own})
            raise ValueError(f"{path}: no command has {brief(key)}; {suggest(key, known)}")
        for name in having:
            found[name][options[name][key].name] = value
    for name, table in given.items():
        # Tables are read after the keys at the top, which they override.
        for key, value in table.items() if isinstance(table, dict) else ():
            if key not in options[name]:
                near = suggest(key, options[name])
                raise ValueError(f"{path}: {name} has no {brief(key)}; {near}")
            found[name][options[name][key].name] = value
    return found
