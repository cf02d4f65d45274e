"""Locks drawn at random."""

from __future__ import annotations

from itertools import chain

from support.random_games import keyed
from tensorcfr import CompiledGame, Locks


def random_locks(game: CompiledGame, seed: int, share: float = 0.5) -> Locks:
    """Some infosets, some of them wholly, some with probabilities 0."""
    given: dict[str, dict[str, float]] = {}
    rows = [some for player in range(game.n_players) for some in game.rows(player)]
    for label, actions in chain.from_iterable(zip(r.labels, r.actions, strict=True) for r in rows):
        rng = keyed(seed, label)
        if rng.random() < share:
            weights = [rng.choice((0.0, 1.0, rng.random())) for _ in actions]
            total = sum(weights) + rng.random() + 0.1
            some = [action for action in actions if rng.random() < 0.6]
            given[label] = {
                a: w / total for a, w in zip(actions, weights, strict=True) if a in some
            }
            if len(some) == len(actions):
                given[label][actions[0]] = 1 - sum(list(given[label].values())[1:])
    return Locks(game, given)
