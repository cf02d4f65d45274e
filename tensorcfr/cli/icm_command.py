"""Command ``icm``: prizes of the stacks of a tournament."""

from __future__ import annotations

import numpy as np

from .._util.number_lists import read_numbers
from ..games.tournaments import bounty_equities, risk
from ..games.tournaments import icm as expected_prizes
from .declared_options import Json, command
from .json_output import print_json
from .report import print_lines


@command()
def icm(
    stacks: str,
    *,
    payouts: str,
    bounties: str | None = None,
    as_json: Json = False,
) -> None:
    """Print the expected prizes of the stacks of a tournament, and bubble factors.

    A bubble factor is the prize money that the player of the row loses by losing an all-in to the
    player of the column, divided by the gain of winning it.

    Options:
        stacks (CHIPS): Chips of each player, '2400,2200,3600,1800'.
        payouts (PRIZES): Prizes that are still to be won, '50,30,20', the first first.
        bounties (BOUNTIES): Progressive bounty on each player, '10,5,5,20'.
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
                "bubble_factors": pressure.bubble_factors.tolist(),
                "risk_premiums": pressure.premiums.tolist(),
            }
        )
        return
    total = sum(chips)
    columns = ["player", "chips", "share", "prize"] + ["bounties"] * (expected is not None)
    rows = [[f"{name:>12}" for name in columns]]
    for player, stack in enumerate(chips):
        cells = [f"{player + 1}", f"{stack:,.12g}", f"{100 * stack / total:.1f} %"]
        amounts = (equities, *([] if expected is None else [expected]))
        cells += [f"{of_players[player]:,.2f}" for of_players in amounts]
        rows.append([f"{cell:>12}" for cell in cells])
    rows += [[], ["bubble factor of the player of the row against that of the column"]]
    rows.append([" " * 12, *(f"{player + 1:>8}" for player in range(len(chips)))])
    for player, row in enumerate(pressure.bubble_factors):
        factors = ("" if np.isnan(factor) else f"{factor:.2f}" for factor in row)
        rows.append([f"{player + 1:>12}", *(f"{factor:>8}" for factor in factors)])
    print_lines(*("".join(row).rstrip() for row in rows))
