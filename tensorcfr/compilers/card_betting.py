"""The betting of a game of cards as a tree, and the boards that are dealt."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import GameError
from ..model.card_boards import Boards
from ..model.card_game import DEAL, DECISION, FOLD, SHOWDOWN, BettingTree
from ..rules import CardGame, Deal, Decision, Fold, Showdown


def unfold(rules: CardGame, name: str) -> BettingTree:
    """The betting as a tree, breadth first.

    Raises:
        GameError: The rules break their contract.
    """
    states: list[Any] = [rules.root()]
    parent, step, rounds = [-1], [""], [0]
    kind, player, first_child, children = [], [], [], []
    amounts = []
    known: dict[Any, Any] = {}
    nothing = np.zeros((3, 2))
    at = 0
    while at < len(states):
        state = states[at]
        node = known.get(state)
        if node is None:
            node = known[state] = rules.node(state)
        first_child.append(len(states))
        player.append(-1)
        amounts.append(nothing)
        steps: list[Any] = []
        if isinstance(node, Decision):
            kind.append(DECISION)
            steps = list(node.actions)
            if node.player not in (0, 1) or not steps:
                raise GameError(f"{name}: after {_line(at, parent, step)} there is no decision")
            if len(set(map(str, steps))) != len(steps):
                raise GameError(f"{name}: after {_line(at, parent, step)} two actions are alike")
            player[-1] = node.player
        elif isinstance(node, Deal):
            kind.append(DEAL)
            steps = [None]
            if len(rules.board) + rounds[at] + 2 * rules.hands[0].shape[1] >= len(rules.cards):
                raise GameError(f"{name}: after {_line(at, parent, step)} there is no card left")
        elif isinstance(node, Fold):
            kind.append(FOLD)
            amounts[-1] = np.array([node.utilities] * 3, dtype=np.float64)
        elif isinstance(node, Showdown):
            kind.append(SHOWDOWN)
            amounts[-1] = np.array(node, dtype=np.float64)
        else:
            raise GameError(
                f"{name}: node(...) after {_line(at, parent, step)} must be a Decision, a Deal, "
                f"a Fold or a Showdown, not {type(node).__name__}"
            )
        if not np.isfinite(amounts[-1]).all() or amounts[-1].shape != (3, 2):
            raise GameError(f"{name}: what {_line(at, parent, step)} pays is not finite")
        children.append(len(steps))
        for one in steps:
            states.append(rules.next(state, one))
            parent.append(at)
            step.append("" if one is None else str(one))
            rounds.append(rounds[at] + (one is None))
        at += 1
    return BettingTree(
        kind=np.array(kind, dtype=np.int8),
        player=np.array(player, dtype=np.int8),
        parent=np.array(parent, dtype=np.int64),
        step=tuple(step),
        first_child=np.array(first_child, dtype=np.int64),
        children=np.array(children, dtype=np.int64),
        round=np.array(rounds, dtype=np.int64),
        amounts=np.array(amounts),
    )


def _line(node: int, parent: list[int], step: list[str]) -> str:
    """The steps to a node."""
    steps = []
    while node > 0:
        steps.append(step[node] or "(deal)")
        node = parent[node]
    return repr(" ".join(steps[::-1]))


def deal_boards(rules: CardGame, betting: BettingTree) -> tuple[Boards, ...]:
    """All boards of each round."""
    free = np.setdiff1d(np.arange(len(rules.cards)), rules.board)
    none = np.zeros((1, 0), dtype=np.int64)
    found = [Boards(none, np.zeros(1, dtype=np.int64))]
    for _ in range(betting.rounds):
        before = found[-1].cards
        taken = (before[:, :, None] == free).any(axis=1)
        parent, card = np.nonzero(~taken)
        found.append(Boards(np.column_stack([before[parent], free[card]]), parent))
    return tuple(found)
