"""Command ``icm``: prizes of the stacks of a tournament."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

from .._util.number_lists import read_numbers
from ..games.tournaments import bounty_equities, risk
from ..games.tournaments import icm as expected_prizes
from .console import errors_in_one_line, plain_console
from .json_output import Json, print_json
from .report import print_line


@errors_in_one_line()
def icm(
    stacks: Annotated[
        str, typer.Argument(metavar="CHIPS", help="Chips of each player, '2400,2200,3600,1800'.")
    ],
    payouts: Annotated[
        str,
        typer.Option(
            metavar="PRIZES", help="Prizes that are still to be won, '50,30,20', the first first."
        ),
    ],
    bounties: Annotated[
        str | None,
        typer.Option(metavar="BOUNTIES", help="Progressive bounty on each player, '10,5,5,20'."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the expected prizes of the stacks of a tournament, and bubble factors.

    A bubble factor is the prize money that the player of the row loses by losing an all-in to the
    player of the column, divided by the gain of winning it.
    """
    chips, prizes = read_numbers("stacks", stacks), read_numbers("--payouts", payouts)
    heads = () if bounties is None else read_numbers("--bounties", bounties)
    equities, pressure = expected_prizes(chips, prizes), risk(chips, prizes, heads)
    expected = bounty_equities(chips, heads) if heads else None
    if as_json:
        print_json(
            {
                "prizes": equities.tolist(),
                "bounties": None if expected is None else expected.tolist(),
                "bubble_factors": _plain(pressure.bubble_factors),
                "risk_premiums": _plain(pressure.premiums),
            }
        )
        return
    console, total = plain_console(), sum(chips)
    columns = ["player", "chips", "share", "prize"] + ["bounties"] * (expected is not None)
    print_line(console, "".join(f"{name:>12}" for name in columns))
    for player, stack in enumerate(chips):
        cells = [f"{player + 1}", f"{stack:,.12g}", f"{100 * stack / total:.1f} %"]
        cells.append(f"{equities[player]:,.2f}")
        if expected is not None:
            cells.append(f"{expected[player]:,.2f}")
        print_line(console, "".join(f"{cell:>12}" for cell in cells))
    print_line(console, "")
    print_line(console, "bubble factor of the player of the row against that of the column")
    print_line(console, " " * 12 + "".join(f"{player + 1:>8}" for player in range(len(chips))))
    for player, row in enumerate(pressure.bubble_factors):
        cells = ["" if np.isnan(factor) else f"{factor:.2f}" for factor in row]
        line = f"{player + 1:>12}" + "".join(f"{cell:>8}" for cell in cells)
        print_line(console, line.rstrip())


def _plain(numbers: np.ndarray) -> list[list[float | None]]:
    """Return rows of numbers for JSON, which has no NaN and no infinity."""
    return [[x if np.isfinite(x) else None for x in row] for row in numbers.tolist()]
