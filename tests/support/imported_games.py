"""Games of other programs that the tests import: texts of Gambit, names of OpenSpiel, files."""

from __future__ import annotations

import json
from typing import Any

from support.paths import DATA

ANSWERS: dict[str, Any] = json.loads((DATA / "gambit_answers.json").read_text("utf-8"))
PYGAMBIT = "pygambit.gambit"
"""The module of pygambit's classes, by which its objects are known."""


class TextGame:
    """As much of a ``pygambit.Game`` as reading one takes."""

    def __init__(self, title: str, kind: str, text: str) -> None:
        self.title, self.is_tree, self._text = title, kind == "efg", text

    def to_efg(self) -> str:
        assert self.is_tree
        return self._text

    def to_nfg(self) -> str:
        assert not self.is_tree
        return self._text


TextGame.__module__ = PYGAMBIT

GOOFSPIEL = "goofspiel(imp_info=True,num_cards={},points_order=descending,returns_type={})"


def turn_based(game: str) -> str:
    return f"turn_based_simultaneous_game(game={game})"


# Source: counted with OpenSpiel 2.0.2 by a program of its own:
# histories, chance nodes, decision nodes, infosets and sequences of each player.
COUNTS = [
    ("kuhn_poker", 58, 4, [12, 12], [6, 6], [13, 13]),
    ("kuhn_poker(players=3)", 617, 17, [96] * 3, [16] * 3, [33] * 3),
    ("leduc_poker", 9457, 157, [1890, 1890], [468, 468], [1093, 1093]),
    ("leduc_poker(suit_isomorphism=True)", 1939, 49, [387, 387], [144, 144], [337, 337]),
    ("liars_dice(numdice=1,dice_sides=2)", 127, 3, [32, 32], [16, 16], [31, 31]),
    ("liars_dice(numdice=1,dice_sides=3)", 1147, 4, [288, 288], [96, 96], [190, 190]),
    ("liars_dice(numdice=1,dice_sides=4)", 8181, 5, [2048, 2048], [512, 512], [1021, 1021]),
    ("liars_dice(numdice=2,dice_sides=2)", 8191, 15, [2048, 2048], [384, 384], [766, 766]),
    (
        "liars_dice(numdice=2,dice_sides=2,bidding_rule=reset-quantity)",
        *(8191, 15, [2048, 2048], [384, 384], [766, 766]),
    ),
    (turn_based(GOOFSPIEL.format(3, "win_loss")), 67, 0, [10, 21], [8, 8], [18, 18]),
    (turn_based(GOOFSPIEL.format(4, "win_loss")), 1077, 0, [161, 340], [81, 81], [175, 175]),
    (
        turn_based(GOOFSPIEL.format(4, "point_difference")),
        *(1077, 0, [161, 340], [81, 81], [175, 175]),
    ),
    (turn_based("matrix_mp()"), 7, 0, [1, 2], [1, 1], [3, 3]),
    (turn_based("matrix_rps()"), 13, 0, [1, 3], [1, 1], [4, 4]),
    (turn_based("matching_pennies_3p()"), 15, 0, [1, 2, 4], [1] * 3, [3] * 3),
]
SHIPS = "board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],num_shots=2"
HIDDEN_MOVES = (
    "openspiel:dark_hex(board_size=2,gameversion=adh)",
    f"openspiel:battleship({SHIPS})",
    "openspiel:first_sealed_auction(max_value=5)",
)
"""Games in which players move in secret."""


def corpus() -> dict[str, Any]:
    """All games that the tests import and that have perfect recall, as arguments of
    ``compile_game``, by name."""
    catalog = {
        name: TextGame(name, said["kind"], said["text"])
        for name, said in ANSWERS["catalog"].items()
        if said["perfect_recall"]
    }
    files = {path.name: path for path in sorted((DATA / "gambit").iterdir())}
    names = [*(f"openspiel:{row[0]}" for row in COUNTS), *HIDDEN_MOVES]
    return {**catalog, **files, **{name: name for name in names}}
