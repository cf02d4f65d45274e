"""Options of spots, which several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..formats import read_spot_options
from ..formats.other_spots import ENDINGS
from ..games import SPOTS, make_spot  # noqa: F401, named in the help
from ..games.poker.spot import PLAYERS, Spot
from ..games.tournaments import read_amounts

GivenSpot = Mapping[str, Any]
"""Options of a spot that are given on the command line, as arguments of the game."""

SEATS = (PLAYERS[0], "middle", PLAYERS[1])
"""Options with the ranges, in the order in which the players act."""


@dataclass(frozen=True, kw_only=True)
class SpotOptions:
    """Options of a spot.

    Options:
        game (NAME): Choose the game among {SPOTS}; by default the game of the file, or the first.
        board: Set the board, three to five cards, 'Td9d6hQc'.
        oop (RANGE): Set the range of the player who acts first, '66+,A8s+,KQo' or 'AA$ds,JT98'.
        ip (RANGE): Set the range of the player who acts last.
        pot: Set the chips in the pot.
        stacks (CHIPS): Set the chips behind; in a tournament, of both players, '900,400'.
        payouts (PRIZES): Play for the prizes of a tournament that are still to be won, '50,30,20'.
        others (CHIPS): Set the chips of the other players of the tournament, '400,600'.
        bets (SIZES): Set sizes, {SIZES}; repeatable.
        raises (SIZES): Set sizes, {SIZES}; repeatable.
        deal_folded: Deal the hand of one folded player, so that hands have exact
            probabilities.

    Settings:
        middle: Set the range of a third player, who acts between these two.
        bounties: Set the progressive bounty on each player: both players of the spot, others.
        big_blind: Set the chips of the big blind, for amounts in mbb.
        chip: Set the smallest chip; by default 1.
        donk: Set sizes after a call, {SIZES}.
        rake: Set the share of the pot for the house.
        rake_cap: Set the largest number of chips for the house.
        add_allin: Add all-in if it is at most this many times the pot.
        force_allin: Make a size all-in if at most this share of the pot would be left behind.
        merging: Drop sizes that are this near to a larger size; 0 keeps all.
        add: Add these lines, 'check bet75'.
        remove: Remove these lines.
        dead: Exclude cards that were seen elsewhere, '2c2d'.
        folded: Set the range of a player who folded.
        incentives: Pay a player for an action, 'ip call +2' or 'oop river bet -5 after check'.
        hand: Read this hand of a file of hands, from 1.
    """

    game: str | None = None
    board: str | None = None
    oop: str | None = None
    ip: str | None = None
    middle: str | None = None
    pot: float | None = None
    stacks: str | None = None
    payouts: str | None = None
    others: str | None = None
    bounties: str | None = None
    big_blind: float | None = None
    chip: float | None = None
    bets: list[str] | None = None
    raises: list[str] | None = None
    donk: list[str] | None = None
    rake: float | None = None
    rake_cap: float | None = None
    add_allin: float | None = None
    force_allin: float | None = None
    merging: float | None = None
    add: list[str] | None = None
    remove: list[str] | None = None
    dead: str | None = None
    folded: list[str] | None = None
    incentives: list[str] | None = None
    deal_folded: bool | None = None
    hand: Annotated[int | None, typer.Option(min=1)] = None

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
