"""Commands in groups, with options from a file of settings.

An option that is hidden is a *setting*: the help of its command lists it by its key in the TOML
file that ``--settings`` names. A key at the top of the file is for all commands that have it, and a
key in a table for the command of that name:

    memory_limit = "2GiB"

    [solve]
    keep_best = true

On the command line, a setting is an option like any other.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from .._util.argument_checks import brief
from ..errors import suggest

OPTION = "--settings"


def key_of(parameter: Any) -> str:
    """Return the key of an option in a file of settings: its long name, ``memory_limit``."""
    name: str = max(parameter.opts, key=len)
    return name.lstrip("-").replace("-", "_")


def options_of(command: Any) -> dict[str, Any]:
    """Return the options of a command by their keys."""
    options = (item for item in command.params if item.param_type_name == "option")
    return {key_of(option): option for option in options}


class Command(TyperCommand):
    """Command whose help lists settings separately."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: D102
        super().format_options(ctx, formatter)
        settings = [
            (key, option.help or "") for key, option in options_of(self).items() if option.hidden
        ]
        if settings:
            with formatter.section(f"Settings, keys of the TOML file of {OPTION}"):
                formatter.write_dl(settings)


class Group(TyperGroup):
    """Commands by purpose, with a file of settings for all of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: D102
        return super().parse_args(ctx, _settings_first(args))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: D102
        listed: list[Any] = [command for command in self.commands.values() if not command.hidden]
        for panel, commands in groupby(listed, lambda command: command.rich_help_panel):
            with formatter.section(str(panel)):
                width = formatter.width - 20
                formatter.write_dl(
                    [(str(command.name), command.get_short_help_str(width)) for command in commands]
                )


def _settings_first(args: Sequence[str]) -> list[str]:
    """Return the words of the command line with the option of the settings file in front."""
    # The group itself takes --settings, so typer would not find the option after a command.
    settings, rest, words = [], [], iter(args)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == OPTION:
            settings += [word, *([value] if (value := next(words, None)) is not None else [])]
        else:
            (settings if word.startswith(f"{OPTION}=") else rest).append(word)
    return settings + rest


def read_settings(path: Path, commands: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Read a file of settings.

    Returns:
        Values of options by command, then by the name of the parameter.

    Raises:
        ValueError: The file is not TOML, or has a key that the command, or every command, lacks.
        OSError: The file cannot be read.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: it is nested too deeply") from None
    options = {name: options_of(command) for name, command in commands.items()}
    by_command: dict[str, dict[str, Any]] = {name: {} for name in commands}
    for key, value in document.items():
        if isinstance(value, dict):
            if key not in commands:
                raise ValueError(
                    f"{path}: there is no command {brief(key)}; {suggest(key, commands)}"
                )
            continue
        having = [name for name in commands if key in options[name]]
        if not having:
            known_keys = sorted(
                {option_key for of_command in options.values() for option_key in of_command}
            )
            raise ValueError(f"{path}: no command has {brief(key)}; {suggest(key, known_keys)}")
        for name in having:
            by_command[name][options[name][key].name] = value
    for name, table in document.items():
        # Tables are read after the keys at the top, which they override.
        for key, value in table.items() if isinstance(table, dict) else ():
            if key not in options[name]:
                near = suggest(key, options[name])
                raise ValueError(f"{path}: {name} has no {brief(key)}; {near}")
            by_command[name][options[name][key].name] = value
    return by_command
