"""Options of spots, which several commands take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..formats import read_spot_options
from ..formats.other_spots import ENDINGS
from ..games import SPOTS, make_spot
from ..games.holdem.spot import PLAYERS, Spot

GivenSpot = Mapping[str, Any]
"""The options of a spot that the command line gives, as the game takes them."""

SIZES = "'60%,a' for all, or for one street, player or both: 'turn=60%', 'river.oop=50%,a'"
Sizes = typer.Option(metavar="SIZES", help=f"{SIZES}; repeatable.")


def _setting(help: str) -> Any:
    """An option that a spot's file, or the file of settings, has."""
    return typer.Option(hidden=True, help=help)


@dataclass(frozen=True)
class SpotOptions:
    """The options of a spot."""

    game: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Of {', '.join(SPOTS)}; by default that of the file, or the first.",
        ),
    ] = None
    board: Annotated[str | None, typer.Option(help="Three to five cards: Td9d6hQc.")] = None
    oop: Annotated[
        str | None,
        typer.Option(metavar="RANGE", help="Who acts first: '66+,A8s+,KQo', 'AA$ds,JT98'."),
    ] = None
    ip: Annotated[str | None, typer.Option(metavar="RANGE", help="Who acts last.")] = None
    pot: Annotated[float | None, typer.Option(help="Chips in the pot.")] = None
    stacks: Annotated[float | None, typer.Option(help="Chips behind.")] = None
    big_blind: Annotated[float | None, _setting("Chips of the big blind, for mbb.")] = None
    chip: Annotated[float | None, _setting("The smallest chip; 1.")] = None
    bets: Annotated[list[str] | None, Sizes] = None
    raises: Annotated[list[str] | None, Sizes] = None
    donk: Annotated[list[str] | None, _setting(f"Sizes after a call, {SIZES}.")] = None
    rake: Annotated[float | None, _setting("Share of the pot for the house.")] = None
    rake_cap: Annotated[float | None, _setting("The most chips of it.")] = None
    add_allin: Annotated[float | None, _setting("Add all-in up to so many times the pot.")] = None
    force_allin: Annotated[
        float | None, _setting("All-in where so much of the pot would be left.")
    ] = None
    merging: Annotated[float | None, _setting("Drop sizes that are so near a larger one.")] = None
    add: Annotated[list[str] | None, _setting("Lines to add, 'check bet75'.")] = None
    remove: Annotated[list[str] | None, _setting("Lines to remove.")] = None
    dead: Annotated[str | None, _setting("Cards that were seen elsewhere, '2c2d'.")] = None
    folded: Annotated[list[str] | None, _setting("The range of a player who folded.")] = None

    @property
    def given(self) -> GivenSpot:
        """The options that are given.

        Raises:
            ValueError: Sizes are given twice.
        """
        given = vars(self) | {
            "ranges": None if self.oop is None and self.ip is None else (self.oop, self.ip),
            "bets": _sizes("--bets", self.bets),
            "raises": _sizes("--raises", self.raises),
            "donk": _sizes("--donk", self.donk),
            "add": tuple(self.add) if self.add else None,
            "remove": tuple(self.remove) if self.remove else None,
            "folded": tuple(self.folded) if self.folded else None,
        }
        return {
            name: value
            for name, value in given.items()
            if value is not None and name not in PLAYERS
        }


def spot_of(spot: Path | None, given: GivenSpot) -> Spot:
    """The spot with the options of a file, and those of the command line instead of them."""
    options: dict[str, Any] = {}
    if spot is not None:
        if spot.suffix.lower() not in ENDINGS:
            raise ValueError(f"{spot}: the name of a spot's file ends in {' or '.join(ENDINGS)}")
        options = read_spot_options(spot)
    nobody = (None,) * len(PLAYERS)
    pairs = zip(given.get("ranges", nobody), options.get("ranges", nobody), strict=True)
    ranges = tuple(old if new is None else new for new, old in pairs)
    options |= given
    if "ranges" in given:
        options["ranges"] = ranges
    said = options | dict(zip(PLAYERS, ranges, strict=True))
    needed = ("board", *PLAYERS, "pot", "stacks")
    missing = [f"--{name}" for name in needed if said.get(name) is None]
    if missing:
        raise ValueError(f"the spot needs {', '.join(missing)}, or a file that says them")
    return make_spot(**options)


def _sizes(option: str, texts: list[str] | None) -> Any:
    """Sizes as the game takes them: a text, or texts by street and player."""
    if not texts:
        return None
    found: dict[str, Any] = {}
    for text in texts:
        where, equals, sizes = text.rpartition("=")
        if not equals:
            if len(texts) > 1:
                raise ValueError(
                    f"{option} {text!r} is for all streets and players, and there are others"
                )
            return sizes
        street, _, player = where.partition(".")
        inner = found
        key = street
        if player:
            inner = found.setdefault(street, {})
            key = player
        if not isinstance(inner, dict) or key in inner:
            raise ValueError(f"{option} {text!r} says something of {where} a second time")
        inner[key] = sizes
    return found
