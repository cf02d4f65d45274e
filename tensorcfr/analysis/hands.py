"""A solved game of cards as players read it: every hand at a public line."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from .._util.arguments import Text, Where, brief, checked
from ..compilers.card_rules import Weighted, weight_met
from ..kernels.card_values import expected_values
from ..model.card_game import DECISION, CompiledCardGame
from ..model.chunks import ROW
from ..solvers.chunked_solver import ChunkedState
from ..solvers.solution import Solution

LONGEST_LINE = 10_000


@dataclass(frozen=True, eq=False)
class HandTable:
    """All hands of the player who acts at a public line."""

    line: str
    """The line, ``"check bet120 call 7s"``."""
    board: tuple[str, ...]
    """The cards of the board there."""
    player: int
    """Who acts."""
    actions: tuple[str, ...]
    """What can be done."""
    hands: tuple[str, ...]
    """The hands that are possible there."""
    cards: np.ndarray
    """int64 (hands, 1 or 2): their cards."""
    weight: np.ndarray
    """float64 (hands,): weight in the range times own reach: how much of the hand is left here."""
    met: np.ndarray
    """float64 (hands,): the same of the other player's hands, summed over those that have no card
    in common with the hand or the board."""
    strategy: np.ndarray
    """float64 (hands, actions): average strategy; uniform where it never gets here."""
    values: np.ndarray
    """float64 (hands, actions): expected utility of each action, given the hand and the line; NaN
    where no hand of the other player gets here."""

    @property
    def value(self) -> np.ndarray:
        """float64 (hands,): expected utility of each hand."""
        mean: np.ndarray = (self.strategy * self.values).sum(axis=1)
        return mean

    @property
    def share(self) -> np.ndarray:
        """float64 (hands,): how likely each hand is here; sums to 1."""
        joint = self.weight * self.met
        share: np.ndarray = joint / joint.sum()
        return share

    @property
    def frequencies(self) -> dict[str, float]:
        """How often each action is taken by all hands together."""
        return dict(zip(self.actions, (self.share @ self.strategy).tolist(), strict=True))

    def grid(self, numbers: np.ndarray, place: Callable[[Any], tuple[int, int]]) -> np.ndarray:
        """Means over the hands of each place of a square grid, weighted by :attr:`share`.

        >>> from tensorcfr.games.holdem import grid_place

        Args:
            numbers: float64 (hands,) or (hands, actions).
            place: Row and column of a hand's cards, such as
                :func:`tensorcfr.games.holdem.grid_place`.

        Returns:
            float64 (13, 13) or (13, 13, actions); NaN where there is no hand.
        """
        numbers = np.asarray(numbers, dtype=np.float64)
        sums, total = np.zeros((13, 13, *numbers.shape[1:])), np.zeros((13, 13))
        for cards, number, share in zip(self.cards, numbers, self.share, strict=True):
            if share > 0.0:
                row, column = place(cards)
                sums[row, column] += share * number
                total[row, column] += share
        with np.errstate(invalid="ignore"):
            found: np.ndarray = sums / total.reshape(13, 13, *[1] * (numbers.ndim - 1))
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each hand: its weight, its value, and per action probability and value."""
        for h, hand in enumerate(self.hands):
            row = {"hand": hand, "weight": float(self.weight[h]), "value": float(self.value[h])}
            for a, action in enumerate(self.actions):
                row[action] = float(self.strategy[h, a])
                row[f"value of {action}"] = float(self.values[h, a])
            yield row

    @checked()
    def to_csv(self, path: Annotated[str | Path, Where()]) -> Path:
        """Write :meth:`rows` to a file; returns its path."""
        target = Path(path)
        rows = list(self.rows())
        with target.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return target


@checked()
def hand_table(solution: Solution, line: Annotated[str, Text(LONGEST_LINE)] = "") -> HandTable:
    """Every hand at a public line of a solved game of cards.

    Args:
        solution: A solution of a :class:`~tensorcfr.CardGame`, with its state.
        line: The actions and dealt cards so far, each after a blank: ``"check bet120 call 7s"``.

    Raises:
        TypeError: The solution is of another kind of game.
        ValueError: There is no such line, nobody acts there, or the solution has no state.
    """
    if not isinstance(solution, Solution):
        raise TypeError(f"solution must be a Solution, not {brief(solution)}")
    game, state = solution.game, solution.state
    if not isinstance(game, CompiledCardGame):
        raise TypeError(f"{game.name} is no game of cards")
    if not isinstance(state, ChunkedState):
        raise ValueError("the solution has no state to read averages from")
    weight = _averages(state)
    node, board = game.find(line)
    place = game.place(node, board)
    wanted = place.chunk
    trunk, inside = _values(game, weight, wanted)
    offset = int(game.chunks.first[wanted]) if wanted >= 0 else 0
    value = (inside if wanted >= 0 else trunk)[1]

    player, other = place.player, 1 - place.player
    possible = [game.possible(node, board, p) for p in range(2)]
    left = [
        game.rules.weights[p] * _reach(game, node, board, p, trunk[0], inside[0]) * possible[p]
        for p in range(2)
    ]
    met = weight_met(Weighted(game.rules, left), player)[possible[player]]
    hands = np.flatnonzero(possible[player])
    at = place.first + place.lane[hands, None] + np.arange(len(place.actions)) * place.stride
    round_ = int(game.betting.round[node])
    rules = game.rules
    free = len(rules.cards) - len(rules.board) - 2 * rules.hands[0].shape[1]
    dealt = float(np.prod([free - k for k in range(round_)]))
    share = rules.weights[player][hands] * met / (game.deals * dealt)
    share *= place.stands_for[hands]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(met > 1e-12 * left[other].sum(), (value[at - offset].T / share), np.nan).T
    positive = np.maximum(weight[at], 0.0)
    total = positive.sum(axis=1, keepdims=True)
    uniform = np.full(positive.shape, 1.0 / len(place.actions))
    strategy = np.divide(positive, total, out=uniform, where=total > 0)
    cards = game.board_cards(node, board)
    return HandTable(
        line=line,
        board=tuple(str(rules.cards[card]) for card in cards),
        player=player,
        actions=place.actions,
        hands=tuple(game.hands[player][hand] for hand in hands.tolist()),
        cards=rules.hands[player][hands],
        weight=left[player][hands],
        met=met,
        strategy=strategy,
        values=values,
    )


def _averages(state: ChunkedState) -> np.ndarray:
    """The cumulative strategy, float64 (numbers,), whatever it is kept in."""
    kept = state.averages
    found: np.ndarray = kept.chunks.astype(np.float64)
    if kept.scale is not None:
        found *= np.repeat(kept.scale, ROW)[: len(found)]
        found[: len(kept.trunk)] = kept.trunk
    return found


def _values(
    game: CompiledCardGame, weight: np.ndarray, wanted: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Reaches and values of the trunk, and of a chunk."""
    chunks = game.chunks
    most, trunk = chunks.most_sequences, chunks.trunk.n_sequences
    arrays = [np.zeros(size) for size in (trunk, trunk, len(chunks.entry), most, most, most, most)]
    expected_values(chunks, weight, wanted, *arrays)
    return (arrays[0], arrays[1]), (arrays[5], arrays[6])


def _reach(
    game: CompiledCardGame,
    node: int,
    board: int,
    player: int,
    trunk: np.ndarray,
    chunk: np.ndarray,
) -> np.ndarray:
    """A player's own reach of a public node with every hand, float64 (hands,)."""
    betting = game.betting
    while node:
        above = int(betting.parent[node])
        if betting.round[above] < betting.round[node]:
            board = int(game.boards[int(betting.round[node])].parent[board])
        if betting.kind[above] == DECISION and betting.player[above] == player:
            place = game.place(above, board)
            action = node - int(betting.first_child[above])
            at = place.first + action * place.stride + place.lane
            if place.chunk < 0:
                found: np.ndarray = trunk[at]
                return found
            inside: np.ndarray = chunk[at - int(game.chunks.first[place.chunk])]
            return inside
        node = above
    return np.ones(len(game.hands[player]))
