"""Cells of a sweep and their budget, checked before the first solve."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from .._util.argument_checks import Whole, brief
from .._util.specs import parse_spec
from ..algorithms import ALGORITHMS, Record, find_algorithm
from ..formats.game_sources import resolve_rules
from ..model.compiled_game import CompiledGame
from ..solvers.request import check_stop_rules


@dataclass(frozen=True)
class StopRules:
    """Stop rules of a cell, as for :func:`tensorcfr.solve`; the first that holds ends the cell.

    Raises:
        ValueError: A rule is out of range, or there is only a target, which may never be reached.
    """

    iters: int | None = None
    """Iterations."""
    nodes: int | None = None
    """Nodes touched (histories visited)."""
    time_limit: float | None = None
    """Seconds, evaluations included."""
    target: float | str | None = None
    """Exploitability (nash_conv / players) of the average strategy: a number in the game's own
    unit, or a text with a unit."""

    def __post_init__(self) -> None:
        if self.iters is None and self.nodes is None and self.time_limit is None:
            raise ValueError(
                "no stop rule: give iters, nodes or time_limit"
                + ("; the target alone may never be reached" if self.target is not None else "")
            )
        check_stop_rules(self.iters, self.target, self.time_limit, self.nodes)

    @property
    def rules(self) -> dict[str, Any]:
        """Given rules, as arguments of :func:`tensorcfr.solve`."""
        return {name: rule for name, rule in vars(self).items() if rule is not None}

    def share(self, iteration: int, nodes_touched: int, elapsed: float) -> float:
        """Return the spent share of the budget, from 0 to 1."""
        spent = [(iteration, self.iters), (nodes_touched, self.nodes), (elapsed, self.time_limit)]
        return min(1.0, max(done / limit if limit else 0.0 for done, limit in spent))

    def __str__(self) -> str:
        return ", ".join(
            f"{name}={rule if isinstance(rule, str) else f'{rule:.12g}'}"
            for name, rule in self.rules.items()
        )


@dataclass(frozen=True)
class Cell:
    """One solve of a sweep."""

    game: str
    """Name of the game in the table."""
    algorithm: str
    """Algorithm with options that differ from the published ones: ``dcfr(alpha=2)``."""
    seed: int | None
    """Seed of a sampling algorithm; None for other algorithms."""
    source: str | CompiledGame
    """Source for :func:`tensorcfr.compile_game`, or a compiled game."""
    record: Record
    """Algorithm as a record."""
    repeat: int = 0
    """Index of the run among several of the same solve, from 0."""

    @property
    def key(self) -> tuple[str, str, int | None, int]:
        """Game, algorithm, seed and repeat, which identify the cell in its sweep."""
        return self.game, self.algorithm, self.seed, self.repeat

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        again = f", repeat {self.repeat}" if self.repeat else ""
        return f"{self.game} by {self.algorithm}{seed}{again}"


def cells(
    games: Iterable[str | CompiledGame],
    algorithms: Iterable[str | Record],
    seeds: Iterable[int],
    repeats: int = 1,
) -> list[Cell]:
    """Return the cells of games times algorithms times seeds times repeats.

    Algorithms that do not sample have one cell in place of one per seed.

    Raises:
        ValueError: A name or a parameter is unknown, or a list is empty.
    """
    source_of: dict[str, str | CompiledGame] = {}
    digests: dict[str, str] = {}
    for source in _several(games, "game"):
        name, digest = _identify(source)
        source_of.setdefault(name, source)
        if digest is not None and digests.setdefault(name, digest) != digest:
            raise ValueError(f"two games are called {name}: the table could not distinguish them")
    records = {
        spec_of(record): record for record in map(read_algorithm, _several(algorithms, "algorithm"))
    }
    whole = Whole(0)
    drawn = dict.fromkeys(whole("seeds: a seed", seed) for seed in _several(seeds, "seed"))
    return [
        Cell(game, algorithm, seed, source_of[game], record, repeat)
        for game, (algorithm, record) in product(source_of, records.items())
        for seed in (drawn if record.is_sampled else [None])
        for repeat in range(repeats)
    ]


def read_algorithm(spec: str | Record, **options: Any) -> Record:
    """Return the record of an algorithm, from a text such as ``"dcfr"`` or ``"dcfr(alpha=2)"``.

    Args:
        spec: The text, or a record.
        options: More options; they override options in the text.

    Raises:
        ValueError: The algorithm or the option does not exist, or the text cannot be parsed.
    """
    if isinstance(spec, str):
        try:
            name, spec_options = parse_spec(spec)
        except ValueError:
            raise ValueError(
                f"cannot read the algorithm {spec!r}; write it as name(option=value, ...)"
            ) from None
        record, options = find_algorithm(name), spec_options | options
    else:
        record = find_algorithm(spec)
    if not options:
        return record
    if record.is_exact:
        raise ValueError(f"{record.name} is exact: it takes no {', '.join(options)}")
    try:
        return record(**options)
    except TypeError as error:
        raise ValueError(str(error)) from error


def spec_of(record: Record) -> str:
    """Return the text from which :func:`read_algorithm` makes this record.

    Raises:
        ValueError: A parameter is a function that is not registered under a name, or a record that
            no text can name.
    """
    published = ALGORITHMS.get(record.name)
    if record == published:
        return record.name
    record.to_dict()  # Raises for functions: different ones could have the same text.
    defaults = record.default_options(published)
    changes = [
        f"{option}={_literal(record, option, value)}"
        for option, value in record.options.items()
        if option not in defaults or defaults[option] != value
    ]
    return f"{record.name}({', '.join(changes)})"


def _literal(record: Record, option: str, value: Any) -> str:
    """Return a value as a Python literal.

    Whole floats lose their decimal point, and records of this library become their names.
    """
    if isinstance(value, Record):
        if value != ALGORITHMS.get(value.name):
            raise ValueError(
                f"{record.name}: {option}={value} cannot be named in a table; register it under a "
                "new name"
            )
        return repr(value.name)
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else repr(value)


def _several(items: Iterable[Any] | str, kind: str) -> list[Any]:
    """Return a list of at least one item; a single text is one item, not a list of letters."""
    listed = [items] if isinstance(items, (str, CompiledGame, Record)) else list(items)
    if not listed:
        raise ValueError(f"there is no {kind} to run")
    return listed


def _identify(source: str | CompiledGame) -> tuple[str, str | None]:
    """Return the name of a game and, if it is compiled, its digest; check that its rules exist.

    The name is the source from which the game can be compiled again, because spots with the same
    board may have the same ``CompiledGame.name``.
    """
    if isinstance(source, CompiledGame):
        text = source.recipe.source if source.recipe is not None else None
        return text or source.name, source.digest
    if not isinstance(source, str):
        raise TypeError(f"games must be names or compiled games, not {brief(source)}")
    resolve_rules(source)
    return source.strip(), None
