"""Expected prizes and bounties, order by order, from the definition of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations


def orders(stacks: Sequence[float]) -> Iterator[tuple[tuple[int, ...], float]]:
    """All finishing orders of players with chips, the winner first, with their probabilities."""
    alive = [player for player, stack in enumerate(stacks) if stack > 0]
    for order in permutations(alive):
        chance = 1.0
        for place, player in enumerate(order):
            chance *= stacks[player] / sum(stacks[other] for other in order[place:])
        yield order, chance


def slow_icm(stacks: Sequence[float], payouts: Sequence[float]) -> list[float]:
    """The expected prize of each player."""
    prizes = [*payouts, *[0.0] * len(stacks)]
    equities = [0.0] * len(stacks)
    alive = sum(stack > 0 for stack in stacks)
    for order, chance in orders(stacks):
        for place, player in enumerate(order):
            equities[player] += chance * prizes[place]
    broke = [player for player, stack in enumerate(stacks) if stack == 0]
    for player in broke:
        equities[player] = sum(prizes[alive : len(stacks)]) / len(broke)
    return equities


def slow_bounties(stacks: Sequence[float], bounties: Sequence[float], cash: float) -> list[float]:
    """The bounties that each player expects, over all orders and all who may eliminate a player."""
    equities = [0.0] * len(stacks)

    def eliminate(left: list[int], heads: list[float], paid: list[float], chance: float) -> None:
        if len(left) == 1:
            paid[left[0]] += heads[left[0]]
            for player, amount in enumerate(paid):
                equities[player] += chance * amount
            return
        *higher, loser = left
        for winner in higher:
            new_heads, new_paid = list(heads), list(paid)
            new_heads[winner] += (1.0 - cash) * heads[loser]
            new_paid[winner] += cash * heads[loser]
            eliminate(higher, new_heads, new_paid, chance / len(higher))

    for order, chance in orders(stacks):
        eliminate(list(order), list(bounties), [0.0] * len(stacks), chance)
    return equities
