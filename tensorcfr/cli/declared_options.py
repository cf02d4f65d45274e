"""Options of commands: declared as arguments of functions, and explained in docstrings.

A command is a function like those of the library. Its keyword-only parameters are options, and the
others are arguments. Sections of its docstring have the help:

    Options:
        node (LINE): Report this line, 'check'; by default '{START}'.

    Settings:
        seed, threads
        equity: Compute equities.

The text in brackets is shown in place of a value. ``{START}`` is a constant of the module, or else
of :mod:`.argument_parsers`; commas join its items. Settings are options that are rarely given: the
help lists them by their keys in the file of settings. A name without a text has that of
:data:`SHARED`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

from . import argument_parsers
from .argument_parsers import algorithm_names, game_names, threads, whole
from .console import errors_in_one_line

Game = Annotated[str | None, typer.Argument(autocompletion=game_names)]
Algorithm = Annotated[str | None, typer.Option(autocompletion=algorithm_names)]
LargeNumber = Annotated[int | None, typer.Option(parser=whole)]
Threads = Annotated[Any, typer.Option(parser=threads)]
FromZero = Annotated[int, typer.Option(min=0)]
Locks = Annotated[list[str] | None, typer.Option("--lock")]
Settings = Annotated[list[str] | None, typer.Option("--set")]
Output = Annotated[Path | None, typer.Option("--output", "-o")]
Json = Annotated[bool, typer.Option("--json")]

SHARED = """Options that several commands explain with these words.

Options:
    as_json: Print JSON for other programs.
    cluster (ADDRESS): Use a cluster of Dask distributed: tcp://host:8786, or a scheduler file
        (.json).
    force: Let --save replace an existing file.
    iters (NUMBER): Stop after this many iterations, '1e6'.
    nodes (NUMBER): Stop after this many nodes touched (histories visited).
    precision: Store arrays as 'float64', as 'float32' in half the memory (the default in spots of
        hold'em), or, in games in chunks, as 'int16' in a quarter.
    seed: Use this seed in a sampling algorithm; by default 0.
    target (AMOUNT): Stop at this exploitability (nash_conv / players): a number in the game's own
        unit, '0.5%' of the pot, '0.1 chips', or '5 mbb'.
    threads (NUMBER): Use this many threads in large games of private hands, or with 'auto' one per
        core; the results have the same bits.
    time_limit (SECONDS): Stop after this many seconds, evaluations included.

Settings:
    memory_limit (SIZE): Take at most this much memory, '2GiB'; by default the free memory.
    settings (PARAMETER=VALUE): Set a parameter of the game, as 'leduc(ranks=4)' does.
"""
_SECTION = re.compile(r"^(Options|Settings):$", re.MULTILINE)


class OptionHelp(NamedTuple):
    """Help of an option."""

    hidden: bool
    """True if the option is a setting."""
    metavar: str | None = None
    """Text in place of a value."""
    help: str | None = None
    """Explanation; None if :data:`SHARED` has it."""


def help_of(source: Any) -> Iterator[tuple[str, OptionHelp]]:
    """Yield the options that a docstring explains, each with its help.

    Args:
        source: The function or the class, or a text in place of its docstring.
    """
    text = source if isinstance(source, str) else source.__doc__ or ""
    constants = vars(argument_parsers) | vars(sys.modules[getattr(source, "__module__", __name__)])

    def value(name: re.Match[str]) -> str:
        constant = constants[name[1]]
        return str(constant) if isinstance(constant, (int, str)) else ", ".join(constant)

    _, *sections = _SECTION.split(inspect.cleandoc(text))
    for title, entries in zip(sections[::2], sections[1::2], strict=True):
        for entry in re.split(r"^    (?! )", entries, flags=re.MULTILINE)[1:]:
            names, colon, text = " ".join(entry.split()).partition(": ")
            for name in names.split(", ") if not colon else [names]:
                name, _, metavar = name.removesuffix(")").partition(" (")
                text = re.sub(r"\{(\w+)\}", value, text)
                yield name, OptionHelp(title == "Settings", metavar or None, text or None)


@cache
def _shared_help() -> dict[str, OptionHelp]:
    return dict(help_of(SHARED))


def command(*groups: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function, whose errors are reported in one line.

    Args:
        groups: Dataclasses whose fields are the options, if the function takes such records; by
            default the parameters of the function are the options.
    """

    def make(function: Callable[..., None]) -> Callable[..., None]:
        sources: tuple[Any, ...] = groups or (function,)
        explained = dict(_shared_help())
        for name, option in (pair for source in sources for pair in help_of(source)):
            shared = explained.get(name, option)
            explained[name] = option if option.help else shared._replace(hidden=option.hidden)
        parameters = [_parameters(source, explained) for source in sources]

        @errors_in_one_line()
        def run(**options: Any) -> None:
            parts = ({name: options[name] for name in group} for group in parameters)
            if groups:
                function(*(group(**part) for group, part in zip(groups, parts, strict=True)))
            else:
                function(**options)

        # Typer reads the signature of __wrapped__ if there is one; give it these parameters.
        del vars(run)["__wrapped__"]
        declared = [parameter for group in parameters for parameter in group.values()]
        vars(run)["__signature__"] = inspect.Signature(declared)
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
        run.__name__ = function.__name__
        run.__doc__ = _SECTION.split(inspect.cleandoc(function.__doc__ or ""))[0]
        return run

    return make


def _parameters(source: Any, explained: Mapping[str, OptionHelp]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function or a dataclass, in the form that typer reads."""
    hints = get_type_hints(source, include_extras=True)
    parameters = {}
    for name, parameter in inspect.signature(source).parameters.items():
        hint, is_option = hints[name], parameter.kind is parameter.KEYWORD_ONLY
        kind, info = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, None)
        if info is not None:
            info = copy(info)
        elif is_option and kind in (bool, bool | None):
            flag = name.replace("_", "-")
            info = typer.Option(f"--{flag}/--no-{flag}" if parameter.default else f"--{flag}")
        else:
            info = typer.Option() if is_option else typer.Argument()
        info.hidden, info.metavar, info.help = explained.get(name, OptionHelp(False))
        parameters[name] = inspect.Parameter(
            name,
            parameter.KEYWORD_ONLY,
            default=parameter.default,
            annotation=Annotated[kind, info],
        )
    return parameters
