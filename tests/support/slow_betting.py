"""What there is of the betting of a game of cards, counted from the rules alone, state by state."""

from __future__ import annotations

from functools import cache
from typing import Any

from tensorcfr.rules import CardGame, Deal, Decision, Runout


def counted(rules: CardGame) -> tuple[list[list[int]], list[int]]:
    """Count below every state, each once.

    Returns:
        For every round nodes, terminals, decisions and actions of player 0 and 1, deals, and nodes
        where cards are run out; and the cards that are dealt, deal by deal.
    """

    @cache
    def below(state: Any) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        node = rules.node(state)
        if isinstance(node, Deal):
            rounds, deals = below(rules.next(state, None))
            return ((1, 0, 0, 0, 0, 0, 1, 0), *rounds), (node.cards, *deals)
        if not isinstance(node, Decision):
            return ((1, 1, 0, 0, 0, 0, 0, int(isinstance(node, Runout))),), ()
        own = [1, 0, 0, 0, 0, 0, 0, 0]
        own[2 + node.player] += 1
        own[4 + node.player] += len(node.actions)
        parts = [below(rules.next(state, action)) for action in node.actions]
        total = [own]
        for rounds, _ in parts:
            for r, row in enumerate(rounds):
                if r == len(total):
                    total.append([0] * 8)
                total[r] = [a + b for a, b in zip(total[r], row, strict=True)]
        longest = max((deals for _, deals in parts), key=len)
        assert all(deals == longest[: len(deals)] for _, deals in parts)
        return tuple(map(tuple, total)), longest

    rounds, deals = below(rules.root())
    return [list(row) for row in rounds], list(deals)
