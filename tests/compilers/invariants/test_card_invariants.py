"""One malformed form of a game of cards per line C of the invariants, with its error."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from support.card_games import RandomSuits
from tensorcfr import compile_game
from tensorcfr.compilers.invariants import all_invariants, check_form
from tensorcfr.compilers.invariants.chunk_checks import OF_WHOLE_GAMES
from tensorcfr.errors import InvariantError
from tensorcfr.kernels.chunk_passes import shape_form
from tensorcfr.model.arrays import SequenceForm
from tensorcfr.payoff import PayoffCards
from tensorcfr.payoff.card_payoffs import FOLD, HAND_BITS, SHOWDOWN, TIES_PAY


@cache
def trunk() -> SequenceForm:
    """The trunk of a game in which boards of several kinds have terminals of all kinds."""
    for seed in range(0, 40, 2):
        rules = RandomSuits(seed, ranks=3, suits=2, width=1, rounds=2)
        game = compile_game(rules)
        part = game.chunks.trunk.operator[0]
        kinds = set(part.group[:, 2].tolist())
        several = (part.group[:, 0] > 1).any()
        if several and kinds >= {FOLD, TIES_PAY} and len(part.board) > 2:
            return game.chunks.trunk
    raise AssertionError


Change = Callable[[dict[str, np.ndarray]], None]


def put(name: str, *at: Any, to: Any) -> Change:
    """One number, changed."""

    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][at] = to

    return change


def whole(name: str, of: Callable[[np.ndarray], np.ndarray]) -> Change:
    """An array, replaced."""

    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name] = of(arrays[name])

    return change


def group_of(kind: int) -> int:
    """A group of a kind."""
    return int(np.flatnonzero(trunk().operator[0].group[:, 2] == kind)[0])


def twice(arrays: dict[str, np.ndarray]) -> None:
    """The second own class of the first walk becomes the first."""
    levels = int(arrays["hand_list"][0])
    arrays["hand_list"][3 + 2 * levels + 1] = arrays["hand_list"][3 + 2 * levels]


def overlap(arrays: dict[str, np.ndarray]) -> None:
    """Two terminals of a group end one sequence."""
    group = int(np.flatnonzero(arrays["group"][:, 0] > 1)[0])
    arrays["sequence"][0, group, 1] = arrays["sequence"][0, group, 0]


def overlap_by_a_part(arrays: dict[str, np.ndarray]) -> None:
    """Of two terminals of a group, one ends a sequence that the other one ends, too."""
    group = int(np.flatnonzero(arrays["group"][:, 0] > 1)[0])
    arrays["sequence"][0, group, 1] = arrays["sequence"][0, group, 0] + 1


def at_the_end(arrays: dict[str, np.ndarray]) -> None:
    """A terminal of player 0 ends the last sequence, and those of player 1 after it."""
    row = arrays["sequence"][0, 0]
    row[row == row[0]] = trunk().player_sequences[1] - 1


def part_of_a_hand(arrays: dict[str, np.ndarray]) -> None:
    """A class of two and a half hands."""
    arrays["weight"][1, 2] = 2.5 * arrays["weight"][0, 2]


def after_the_last_board(arrays: dict[str, np.ndarray]) -> None:
    """The last group is on a board that is not there."""
    arrays["group"][-1, 1] = len(arrays["board"])


def one_class_more(arrays: dict[str, np.ndarray]) -> None:
    """A class that belongs to no kind of boards."""
    arrays["weight"] = np.column_stack([arrays["weight"], [1.0, 1.0]])
    arrays["same"] = np.append(arrays["same"], np.uint32(0))


def others_of_first_walk(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The hands of player 1 in the walk of player 0 on the first board."""
    levels, own, others = arrays["hand_list"][:3].tolist()
    begin = 3 + 2 * levels + own
    return arrays["hand_list"][begin : begin + others]


def other_twice(arrays: dict[str, np.ndarray]) -> None:
    """Of a class of several hands one is there twice, and another one is not."""
    hands = others_of_first_walk(arrays)
    of_class = hands & CLASS_OF_A_HAND
    first, second = np.flatnonzero(of_class == of_class[0])[:2]
    hands[second] = hands[first]


def other_too_often(arrays: dict[str, np.ndarray]) -> None:
    """A class of player 1 has a hand of another class."""
    hands = others_of_first_walk(arrays)
    of_class = hands & CLASS_OF_A_HAND
    at = np.flatnonzero(of_class != of_class[0])[0]
    hands[at] = hands[at] - of_class[at] | of_class[0]


def other_by_level(arrays: dict[str, np.ndarray]) -> None:
    """The first strength has a hand of the other player too many."""
    arrays["hand_list"][4] += 1


def fold_with_a_tie(arrays: dict[str, np.ndarray]) -> None:
    """A fold that pays another amount for a tie."""
    arrays["amount"][:, group_of(FOLD), 1] += 1.0


def tie_pays(arrays: dict[str, np.ndarray]) -> None:
    """A showdown whose ties pay says that they do not."""
    arrays["group"][group_of(TIES_PAY), 2] = SHOWDOWN


CLASS_OF_A_HAND = np.uint32((1 << HAND_BITS) - 1)
"""The bits of a hand in a walk that are its class; the others are its cards."""

ROWS: list[tuple[str, Change, str]] = [
    ("C1", whole("same", lambda array: array.astype(np.int64)), "cards.same is int64, not uint32"),
    ("C1", whole("board", lambda array: array[:, :2]), "cards.board has shape"),
    ("C2", put("lanes", 0, 0, to=1), "kind 0 begins at class 1, not 0"),
    ("C2", put("lanes", 0, 1, to=0), "kind 0 has"),
    ("C2", put("sizes", 0, to=1), "cards.sizes says"),
    ("C2", put("sizes", 2, to=255), "the deck has 255 cards"),
    ("C2", one_class_more, "the kinds end at class"),
    ("C3", put("weight", 0, 2, to=0.0), "a hand of class 2 has weight 0.0"),
    ("C3", put("weight", 0, 2, to=np.inf), "a hand of class 2 has weight inf"),
    ("C3", put("weight", 1, 2, to=0.01), "class 2 has weight 0.01"),
    ("C3", part_of_a_hand, "class 2 has weight"),
    ("C4", put("same", 1, to=0), "class 1 of player 0, kind 0, is the same as 0"),
    ("C4", put("same", 1, to=10**6), "is the same as 1000000"),
    ("C5", put("board", 1, 2, to=99), "board 1 has kind 99"),
    ("C5", put("board", 1, 0, to=10**7), "the hand list of player 0 on board 1 begins at 10000000"),
    ("C5", put("hand_list", 1, to=10**6), "the hand list of player 0 on board 0 ends at"),
    ("C5", put("hand_list", 3, to=50), "hands and"),
    ("C5", other_by_level, "hands and .* by level"),
    ("C6", twice, "times"),
    ("C6", other_too_often, "of player 1 3 times"),
    ("C6", other_twice, "has a hand twice"),
    ("C6", put("hand_list", -1, to=255 << 24), "has a hand of the cards|has class"),
    ("C7", put("group", 0, 0, to=17), "group 0 has 17 terminals"),
    ("C7", put("group", 0, 0, to=0), "group 0 has 0 terminals"),
    ("C7", put("group", 0, 1, to=-1), "group 0 is on board -1"),
    ("C7", after_the_last_board, "is on board"),
    ("C7", whole("group", lambda array: array[::-1].copy()), "after one on"),
    ("C7", put("group", 0, 2, to=3), "group 0 is of kind 3"),
    ("C8", put("sequence", 0, 0, 0, to=10**6), "terminal 0 of group 0 ends sequence 1000000"),
    ("C8", put("sequence", 0, 0, -1, to=0), "a lane of group 0 without a terminal"),
    ("C8", put("sequence", 1, 0, 0, to=0), "terminal 0 of group 0 ends sequence 0 of player 1"),
    ("C8", at_the_end, "terminal 0 of group 0 ends sequence"),
    ("C8", overlap, "two terminals of group"),
    ("C8", overlap_by_a_part, "two terminals of group 0 end sequence 2 of"),
    ("C9", put("amount", 0, 0, 0, 0, to=np.nan), "an amount of group 0 is not finite"),
    ("C9", put("amount", 1, 0, 0, 0, to=np.inf), "amount of group 0 is not finite"),
    ("C9", fold_with_a_tie, "is of folds"),
    ("C9", tie_pays, "pay, but its kind has no payoffs of ties"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[2]}")
def test_a_broken_invariant_is_named_with_what_breaks_it(row: tuple[str, Change, str]) -> None:
    number, change, message = row
    form = trunk()
    arrays = {name: array.copy() for name, array in form.operator[0]._asdict().items()}
    change(arrays)
    names = {invariant.number: invariant.name for invariant in all_invariants()}
    with pytest.raises(InvariantError, match=message) as caught:
        check_form(form._replace(operator=(PayoffCards(**arrays),)))
    assert str(caught.value).startswith(f"{number} ({names[number]}): ")


def test_a_fold_with_several_amounts_and_a_win_like_a_loss() -> None:
    form = trunk()
    part = form.operator[0]
    for kind, message in ((FOLD, "is of folds"), (TIES_PAY, "pays like a loss")):
        amount = part.amount.copy()
        group = group_of(kind)
        amount[0, group, 0] = amount[0, group, 2] + (kind == FOLD)
        with pytest.raises(InvariantError, match=rf"C9 .*{message}"):
            check_form(form._replace(operator=(part._replace(amount=amount),)))


def test_all_forms_of_games_pass() -> None:
    for seed in range(3):
        for width, rounds in ((1, 2), (2, 1), (2, 0)):
            rules = RandomSuits(seed, ranks=3, suits=3, width=width, rounds=rounds, public=(0,))
            chunks = compile_game(rules).chunks
            check_form(chunks.trunk)
            for chunk in range(chunks.n_chunks):
                check_form(shape_form(chunks.shapes, chunk), but=OF_WHOLE_GAMES)
