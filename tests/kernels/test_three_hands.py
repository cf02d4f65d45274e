"""Payoffs of three hands: the kernel equals sums over all triples of hands."""

from __future__ import annotations

from itertools import combinations, pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.card_games import pay
from tensorcfr.errors import InvariantError
from tensorcfr.model.arrays import SequenceForm, bucket_layout, frozen_arrays
from tensorcfr.payoff.three_hand_lanes import THREE_HANDS
from tensorcfr.payoff.three_hands import LANES, RELATIONS, PayoffThreeHands


def random_part(
    rng: np.random.Generator, deck: int, width: int, counts: tuple[int, int, int], groups: int = 3
) -> SequenceForm:
    """Three random ranges on two boards of one card, with classes of one hand, or of two."""
    every = np.array(list(combinations(range(deck), width)), dtype=np.int64)
    hands, with_cards = [], np.empty((3, deck + 1, deck + 1), dtype=np.int64)
    for player, count in enumerate(counts):
        chosen = rng.permutation(every)[:count]
        with_cards[player] = len(chosen)
        if width == 2:
            for h, (a, b) in enumerate(chosen.tolist()):
                with_cards[player, a, b] = with_cards[player, b, a] = h
        hands.append(np.column_stack([chosen, np.full((len(chosen), 2 - width), deck)]))
    counts = tuple(map(len, hands))
    begin = np.append(0, np.cumsum(counts))
    cards, total = np.concatenate(hands), int(begin[-1])
    weight = rng.random(total) + 0.1
    class_of = np.concatenate([np.arange(n) for n in counts])[None]
    strength = rng.integers(0, max(2, len(every) // 4), (2, deck + 1, deck + 1))
    strength = np.maximum(strength, strength.transpose(0, 2, 1))
    level = np.full((2, total + 1), -1)
    level[:, :-1] = strength[:, cards[:, 0], cards[:, 1]]
    for board in range(2):
        level[board, :-1][(cards == board).any(axis=1)] = -1
    order = np.concatenate(
        [np.argsort(level[:, b:e], axis=1, kind="stable") for b, e in pairwise(begin)],
        axis=1,
    )
    compared = np.array([0, 3, 5, 6, 7, 7])[np.arange(groups) % 6]
    group = np.column_stack([rng.integers(1, LANES + 1, groups), np.arange(groups) % 2, compared])
    amount = rng.normal(size=(3, groups, 3, 3, LANES))
    sequences = np.zeros((3, groups, LANES), dtype=np.int64)
    bounds = [0]
    for player, n in enumerate(counts):
        opponents = [p for p in range(3) if p != player]
        for k in range(groups):
            for axis, opponent in enumerate(opponents):
                if not compared[k] >> player & compared[k] >> opponent & 1:
                    amount[player, k] = amount[player, k].take([0], axis=axis)
            lanes = [lane if lane < group[k, 0] else 0 for lane in range(LANES)]
            sequences[player, k] = bounds[-1] + 1 + n * (LANES * k + np.array(lanes))
        bounds.append(bounds[-1] + 1 + n * groups * LANES)
    part = PayoffThreeHands(
        cards=np.array([deck]),
        hand_begin=begin,
        hand=cards,
        weight=weight,
        with_cards=with_cards,
        class_of=class_of,
        own_weight=weight[None].copy(),
        board_kind=np.zeros(2, dtype=np.int64),
        level=level,
        order=order,
        group=group,
        sequence=sequences,
        amount=amount.reshape(3, groups, RELATIONS, LANES),
    )
    players = np.arange(3)
    actions = np.diff(bounds) - 1
    layout = bucket_layout(players, 0 * players, actions, np.ones(3, np.int64), 3)
    return SequenceForm(**layout, infoset_parent=np.array(bounds[:-1], np.uint32), operator=(part,))


def triples_of(form: SequenceForm, player: int, x: np.ndarray) -> np.ndarray:
    """Payoffs by a sum over all triples of hands, from the definition."""
    part: Any = form.operator[0]
    first, second = (p for p in range(3) if p != player)
    g = np.zeros(form.n_sequences)
    begin, deck = part.hand_begin, part.cards[0]

    def hands(p: int) -> list[tuple[int, set[int]]]:
        own = part.hand[begin[p] : begin[p + 1]].tolist()
        return [(h, {c for c in cards if c < deck}) for h, cards in enumerate(own)]

    for k, (count, board, _) in enumerate(part.group.tolist()):
        level = [part.level[board, begin[p] : begin[p + 1]] for p in range(3)]
        for h, own in hands(player):
            for i, cards in hands(first):
                for j, others in hands(second):
                    if own & cards or own & others or cards & others:
                        continue
                    if min(level[player][h], level[first][i], level[second][j]) < 0:
                        continue
                    weight = np.prod(
                        [
                            part.weight[begin[p] + n]
                            for p, n in ((player, h), (first, i), (second, j))
                        ]
                    )
                    pair = 0
                    for p, n in ((first, i), (second, j)):
                        pair = 3 * pair + 1 + int(np.sign(level[p][n] - level[player][h]))
                    for lane in range(count):
                        at = [
                            part.sequence[p, k, lane] + n
                            for p, n in ((player, h), (first, i), (second, j))
                        ]
                        g[at[0]] += (
                            weight * part.amount[player, k, pair, lane] * x[at[1]] * x[at[2]]
                        )
    return g


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("deck", "width", "counts"),
    [(9, 2, (36, 20, 25)), (12, 2, (15, 3, 40)), (7, 1, (7, 7, 5)), (4, 1, (4, 4, 4))],
)
def test_the_kernel_equals_a_sum_over_triples(
    deck: int, width: int, counts: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(deck)
    form = random_part(rng, deck, width, counts, groups=6)
    x = rng.random(form.n_sequences)
    for player in range(3):
        own = form.of_player(player)
        expected = triples_of(form, player, x)[own]
        product = form.operator[0].product(form, player, x)
        np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-6)):
            g = np.zeros(form.n_sequences, dtype=dtype)
            pay(frozen_arrays(form), player, x.astype(dtype), g)
            np.testing.assert_allclose(
                g[own], expected, rtol=0, atol=tolerance * np.abs(expected).max()
            )


SPOILT = [
    ("D1", "level", (), np.zeros((2, 3), dtype=np.int64), "level has shape"),
    ("D1", "hand_begin", 1, 0, "player 0 has no hands"),
    ("D2", "hand", (1, 1), 9, "hand 1 has the cards"),
    ("D2", "weight", 3, 0.0, "hand 3 has weight 0"),
    ("D2", "with_cards", (1, 2, 2), 0, "does not find the hands of player 1 with card 2"),
    ("D3", "class_of", (0, 0), 1, "classes of player 0 on boards of kind 0"),
    ("D3", "own_weight", (0, 1), 0.0, "a class of player 0"),
    ("D3", "own_weight", (0, 1), 5.0, "class 1 of player 0 .* has another weight"),
    ("D4", "board_kind", 1, 1, "board 1 has kind 1"),
    ("D4", "level", (0, 2), -2, "a hand on board 0 has a level below -1"),
    ("D4", "order", (1, 0), 1, "the order of player 0 on board 1 has not every hand once"),
    ("D4", "level", (0, 5), 99, "the order of player 0 on board 0 is not by level"),
    ("D2", "hand", 1, [0, 1], "player 0 has a hand twice"),
    ("D4", "level", (0, slice(36, 56)), 99, "hands with the same cards have different levels"),
    ("D5", "group", (2, 0), 9, "group 2 has terminals 9"),
    ("D5", "group", (2, 1), 2, "group 2 has board 2"),
    ("D5", "sequence", (1, 0, 0), 0, "terminal 0 of group 0 ends sequence 0 of player 1"),
    ("D6", "amount", (0, 4, 0, 0), np.nan, "an amount of group 4 is not finite"),
    ("D6", "amount", (0, 0, 1, 0), 1e3, "in group 0 depends on the hand of player"),
]


@pytest.mark.parametrize(("number", "name", "place", "value", "message"), SPOILT)
def test_a_broken_invariant_is_named(
    number: str, name: str, place: Any, value: Any, message: str
) -> None:
    form = random_part(np.random.default_rng(9), 9, 2, (36, 20, 25), groups=6)
    part: Any = form.operator[0]
    for _, _, check in THREE_HANDS.invariants:
        check(part, SimpleNamespace(form=form))
    array = getattr(part, name).copy()
    if place == ():
        array = value
    else:
        array[place] = value
    part = part._replace(**{name: array})
    for listed, _, check in THREE_HANDS.invariants:
        if listed == number:
            with pytest.raises(InvariantError, match=message):
                check(part, SimpleNamespace(form=form))
            return
        check(part, SimpleNamespace(form=form))
