"""Options of spots, which several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..formats import read_spot_options
from ..formats.other_spots import ENDINGS
from ..games import SPOTS, make_spot
from ..games.poker.spot import PLAYERS, Spot
from ..games.tournaments import read_amounts
from .argument_parsers import setting

GivenSpot = Mapping[str, Any]
"""Options of a spot that are given on the command line, as arguments of the game."""

SEATS = (PLAYERS[0], "middle", PLAYERS[1])
"""Options with the ranges, in the order in which the players act."""
SIZES = (
    "'60%,a' for all, or for one street, player or both: 'turn=60%', 'river.oop=50%,a', with three "
    "ranges 'river.middle=50%'"
)
Sizes = typer.Option(metavar="SIZES", help=f"Set sizes, {SIZES}; repeatable.")


@dataclass(frozen=True)
class SpotOptions:
    """Options of a spot."""

    game: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Choose the game among {', '.join(SPOTS)}; by default the game of the file, or "
            "the first.",
        ),
    ] = None
    board: Annotated[
        str | None, typer.Option(help="Set the board, three to five cards, 'Td9d6hQc'.")
    ] = None
    oop: Annotated[
        str | None,
        typer.Option(
            metavar="RANGE",
            help="Set the range of the player who acts first, '66+,A8s+,KQo' or 'AA$ds,JT98'.",
        ),
    ] = None
    ip: Annotated[
        str | None, typer.Option(metavar="RANGE", help="Set the range of the player who acts last.")
    ] = None
    middle: Annotated[
        str | None, setting("Set the range of a third player, who acts between these two.")
    ] = None
    pot: Annotated[float | None, typer.Option(help="Set the chips in the pot.")] = None
    stacks: Annotated[
        str | None,
        typer.Option(
            metavar="CHIPS",
            help="Set the chips behind; in a tournament, of both players, '900,400'.",
        ),
    ] = None
    payouts: Annotated[
        str | None,
        typer.Option(
            metavar="PRIZES",
            help="Play for the prizes of a tournament that are still to be won, '50,30,20'.",
        ),
    ] = None
    others: Annotated[
        str | None,
        typer.Option(
            metavar="CHIPS",
            help="Set the chips of the other players of the tournament, '400,600'.",
        ),
    ] = None
    bounties: Annotated[
        str | None,
        setting("Set the progressive bounty on each player: both players of the spot, others."),
    ] = None
    big_blind: Annotated[
        float | None, setting("Set the chips of the big blind, for amounts in mbb.")
    ] = None
    chip: Annotated[float | None, setting("Set the smallest chip; by default 1.")] = None
    bets: Annotated[list[str] | None, Sizes] = None
    raises: Annotated[list[str] | None, Sizes] = None
    donk: Annotated[list[str] | None, setting(f"Set sizes after a call, {SIZES}.")] = None
    rake: Annotated[float | None, setting("Set the share of the pot for the house.")] = None
    rake_cap: Annotated[float | None, setting("Set the largest number of chips for the house.")] = (
        None
    )
    add_allin: Annotated[
        float | None, setting("Add all-in if it is at most this many times the pot.")
    ] = None
    force_allin: Annotated[
        float | None,
        setting("Make a size all-in if at most this share of the pot would be left behind."),
    ] = None
    merging: Annotated[
        float | None, setting("Drop sizes that are this near to a larger size; 0 keeps all.")
    ] = None
    add: Annotated[list[str] | None, setting("Add these lines, 'check bet75'.")] = None
    remove: Annotated[list[str] | None, setting("Remove these lines.")] = None
    dead: Annotated[str | None, setting("Exclude cards that were seen elsewhere, '2c2d'.")] = None
    folded: Annotated[list[str] | None, setting("Set the range of a player who folded.")] = None
    incentives: Annotated[
        list[str] | None,
        setting("Pay a player for an action, 'ip call +2' or 'oop river bet -5 after check'."),
    ] = None
    deal_folded: Annotated[
        bool | None,
        typer.Option(
            "--deal-folded",
            help="Deal the hand of one folded player, so that hands have exact probabilities.",
        ),
    ] = None
    hand: Annotated[int | None, setting("Read this hand of a file of hands, from 1.", min=1)] = None

    @property
    def given(self) -> GivenSpot:
        """Options that are given, as arguments of the game.

        Raises:
            ValueError: Sizes are given twice, or an amount is not a number.
        """
        options = vars(self) | {
            "ranges": (self.oop, self.middle, self.ip) if self._has_range else None,
            "bets": read_sizes("--bets", self.bets),
            "raises": read_sizes("--raises", self.raises),
            "donk": read_sizes("--donk", self.donk),
            "add": tuple(self.add) if self.add else None,
            "remove": tuple(self.remove) if self.remove else None,
            "folded": tuple(self.folded) if self.folded else None,
            "incentives": tuple(self.incentives) if self.incentives else None,
        }
        options = read_amounts(options, "--")
        return {
            name: value
            for name, value in options.items()
            if value is not None and name not in SEATS
        }

    @property
    def _has_range(self) -> bool:
        return any(getattr(self, seat) is not None for seat in SEATS)


def spot_of(spot: Path | None, overrides: GivenSpot) -> Spot:
    """Return the spot with the options of a file, overridden by options of the command line."""
    options: dict[str, Any] = {}
    overrides = dict(overrides)
    hand = overrides.pop("hand", None)
    if spot is None and hand is not None:
        raise ValueError("--hand needs a file of hands")
    if spot is not None:
        if spot.suffix.lower() not in ENDINGS:
            raise ValueError(
                f"{spot}: the name of a spot's file must end in {' or '.join(ENDINGS)}"
            )
        options = read_spot_options(spot, hand=hand)
    # A file has two ranges, or three; without a file, a middle range makes them three.
    new_ranges, file_ranges = overrides.pop("ranges", ()), options.get("ranges", ())
    seats = SEATS if len(file_ranges) > 2 else PLAYERS
    ranges = dict(zip(seats, file_ranges, strict=False))
    ranges |= {
        seat: text for seat, text in zip(SEATS, new_ranges, strict=False) if text is not None
    }
    options |= overrides
    if new_ranges:
        options["ranges"] = tuple(ranges[seat] for seat in SEATS if seat in ranges)
    known = options | ranges
    needed = ("board", *PLAYERS, "pot", "stacks")
    missing = [f"--{name}" for name in needed if known.get(name) is None]
    if missing:
        raise ValueError(f"the spot needs {', '.join(missing)}, or a file with them")
    return make_spot(**options)


def read_sizes(option: str, texts: list[str] | None) -> Any:
    """Return sizes as the argument of the game: a text, or texts by street and player."""
    if not texts:
        return None
    by_street: dict[str, Any] = {}
    for text in texts:
        where, equals, sizes = text.rpartition("=")
        if not equals:
            if len(texts) > 1:
                raise ValueError(
                    f"{option} {text!r} is for all streets and players, so no other is allowed"
                )
            return sizes
        street, _, player = where.partition(".")
        inner = by_street
        key = street
        if player:
            inner = by_street.setdefault(street, {})
            key = player
        if not isinstance(inner, dict) or key in inner:
            raise ValueError(f"{option} {text!r} sets {where} a second time")
        inner[key] = sizes
    return by_street
