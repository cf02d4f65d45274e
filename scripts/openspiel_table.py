"""The table of docs/results/agreement.md: NashConv by OpenSpiel and by tensorcfr, both ways.

python -m scripts.openspiel_table      needs tensorcfr[openspiel]; writes the table into the page
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import TabularPolicy, python_policy_to_pyspiel_policy

from benchmarks._common import progress, table
from tensorcfr import compile_game, evaluate, solve
from tensorcfr.formats import find_policy, policy_to_pyspiel

from ._pages import DOCS, write_parts

PAGE = DOCS / "results" / "agreement.md"
GOOFSPIEL = "goofspiel(imp_info=True,num_cards={},points_order=descending)"
GAMES = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "kuhn_poker(players=4)",
    "leduc_poker",
    "leduc_poker(suit_isomorphism=True)",
    "liars_dice(dice_sides=2)",
    "liars_dice(dice_sides=3)",
    "liars_dice(dice_sides=4)",
    "liars_dice(numdice=2,dice_sides=2)",
    "liars_dice(numdice=1,dice_sides=3,bidding_rule=reset-quantity)",
    GOOFSPIEL.format(3),
    GOOFSPIEL.format(4),
    "first_sealed_auction(max_value=3)",
    "matching_pennies_3p",
    "matrix_rps",
)
ITERATIONS = 20
SEED = 7


def load(name: str) -> Any:
    """Time a game of OpenSpiel, in turns."""
    game = pyspiel.load_game(name)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        return pyspiel.convert_to_turn_based(game)
    return game


def random_policy(game: Any) -> TabularPolicy:
    """Return a policy of OpenSpiel with random probabilities, the same in every run."""
    policy = TabularPolicy(game)
    drawn = np.random.default_rng(SEED).random(policy.action_probability_array.shape)
    weights = drawn * policy.legal_actions_mask
    policy.action_probability_array = weights / weights.sum(axis=1, keepdims=True)
    return policy


def row(name: str) -> list[str]:
    """Return a row of the table."""
    theirs = load(name)
    game = compile_game(theirs)
    policy = solve(game, "cfr", iters=ITERATIONS).policy
    ours = evaluate(game, policy).nash_conv
    exported = pyspiel.nash_conv(theirs, policy_to_pyspiel(policy, theirs), True)
    drawn = random_policy(theirs)
    imported = evaluate(game, find_policy(game, drawn)).nash_conv
    original = pyspiel.nash_conv(theirs, python_policy_to_pyspiel_policy(drawn), True)
    out, back = abs(exported - ours), abs(imported - original)
    progress(f"{name}: {out:.1e}, {back:.1e}")
    numbers = f"{ours:.12f}", f"{exported:.12f}", f"{out:.0e}", f"{original:.12f}"
    return [f"`{name}`", f"{game.n_infosets:,}", *numbers, f"{imported:.12f}", f"{back:.0e}"]


def main() -> None:
    """Measure, and write the table."""
    head = ["game", "infosets", f"tensorcfr, CFR {ITERATIONS}", "exported", "difference"]
    head += ["OpenSpiel, random", "imported", "difference"]
    write_parts(PAGE, "openspiel_table", {"nash_conv": table(head, list(map(row, GAMES)))})


if __name__ == "__main__":
    main()
