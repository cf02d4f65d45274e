"""Automorphisms of a small game, by trying all; and games that have some.

An automorphism permutes histories.  It keeps players, infosets, chance probabilities and payoffs.
The search follows pairs of histories from the root down: where an infoset is met first, each
bijection of its actions is tried, and the same one holds at all its histories.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import permutations
from typing import Any

from support.random_games import keyed
from tensorcfr.rules import Chance, Decision, Game, Terminal

Action = tuple[str, Hashable]
"""Label of an infoset, and one of its actions."""
Pairs = tuple[tuple[Any, Any], ...]
"""States that are still to be mapped, each with its image."""


def automorphisms(rules: Game) -> Iterator[dict[str, dict[Action, Action]]]:
    """Yield every automorphism: by infoset, the images of its actions."""
    shapes: dict[Any, int] = {}
    _shape(rules, rules.root(), shapes, {})
    yield from _extended(rules, shapes, ((rules.root(), rules.root()),), {})


def _shape(rules: Game, state: Any, shapes: dict[Any, int], known: dict[str, int]) -> int:
    """Return a number that is equal for states which automorphisms map to each other."""
    node = rules.node(state)
    if isinstance(node, Terminal):
        shape = repr(list(map(float, node.utilities)))
    else:
        chance = isinstance(node, Chance)
        steps = node.outcomes.items() if chance else [(a, node.player) for a in node.actions]
        below = [
            (number, _shape(rules, rules.next(state, step), shapes, known))
            for step, number in steps
        ]
        shape = f"{chance} {sorted(below)}"
    return shapes.setdefault(state, known.setdefault(shape, len(known)))


def _extended(
    rules: Game, shapes: dict[Any, int], todo: Pairs, images: dict[str, dict[Action, Action]]
) -> Iterator[dict[str, dict[Action, Action]]]:
    """Yield every way to map the states that are left."""
    if not todo:
        yield images
        return
    (state, image), rest = todo[-1], todo[:-1]
    if shapes[state] != shapes[image]:
        return
    node, other = rules.node(state), rules.node(image)
    if isinstance(node, Terminal):
        yield from _extended(rules, shapes, rest, images)
        return
    steps, images_of_steps = (
        tuple(n.outcomes if isinstance(n, Chance) else n.actions) for n in (node, other)
    )
    orders: Any = permutations(images_of_steps)
    if isinstance(node, Decision):
        known = images.get(node.infoset)
        if known is not None:
            orders = [[known[node.infoset, step][1] for step in steps]]
            if next(iter(known.values()))[0] != other.infoset:
                return
        elif any(choice[0] == other.infoset for of in images.values() for choice in of.values()):
            return
    for order in orders:
        pairs = list(zip(steps, order, strict=True))
        if isinstance(node, Chance) and any(
            node.outcomes[a] != other.outcomes[b] for a, b in pairs
        ):
            continue
        below = tuple((rules.next(state, a), rules.next(image, b)) for a, b in pairs)
        if any(shapes[one] != shapes[two] for one, two in below):
            continue
        mapped = images
        if isinstance(node, Decision):
            mapped = images | {
                node.infoset: {(node.infoset, a): (other.infoset, b) for a, b in pairs}
            }
        yield from _extended(rules, shapes, rest + below, mapped)


def orbits(rules: Game) -> tuple[set[frozenset[str]], set[frozenset[Action]]]:
    """Return the infosets, and the actions, that automorphisms map to each other."""
    infoset: dict[str, set[str]] = {}
    action: dict[Action, set[Action]] = {}
    for images in automorphisms(rules):
        for label, choice in images.items():
            for source, target in choice.items():
                infoset.setdefault(label, set()).add(target[0])
                action.setdefault(source, set()).add(target)
    return set(map(frozenset, infoset.values())), set(map(frozenset, action.values()))


class HideAndSeek(Game):
    """Player 0 hides in one of some cells in a circle, then player 1 looks into a cell, and sees
    whether it is right.  After a miss player 0 stays or moves to a neighbour, and player 1 looks
    again.  Payoffs are random numbers of the distances; so all turns and reflections of the circle
    are automorphisms.

    Args:
        cells: Number of cells.
        seed: Seed of the payoffs.
        wind: Probability that a wind moves player 0 to the right after hiding, instead of to the
            left; None for no wind.
        extra: Amount that one terminal pays more, without a wind.
        told: Whether player 1 sees it if player 0 hides in cell 1.
    """

    n_players = 2

    def __init__(
        self,
        cells: int = 3,
        seed: int = 0,
        *,
        wind: float | None = None,
        extra: float = 0.0,
        told: bool = False,
    ) -> None:
        self.cells, self.seed, self.wind = cells, seed, wind
        self.extra, self.told = extra, told

    def root(self) -> tuple[Any, ...]:
        return ()

    def next(self, state: tuple[Any, ...], action: Any) -> tuple[Any, ...]:
        return (*state, action)

    def node(self, state: tuple[Any, ...]) -> Decision | Chance | Terminal:
        cells, everywhere = self.cells, tuple(range(self.cells))
        if not state:
            return Decision(0, "hide", everywhere)
        hidden, path = state[0], state[1:]
        if self.wind is not None:
            if not path:
                return Chance({1: self.wind, -1: 1.0 - self.wind})
            hidden, path = (hidden + path[0]) % cells, path[1:]
        seen = " at 1" if self.told and hidden == 1 else ""
        if not path:
            return Decision(1, f"look{seen}", everywhere)
        if path[0] == hidden:
            return self._end(state, "first")
        if len(path) == 1:
            return Decision(0, f"hid at {state[0]}, {hidden}, looked at {path[0]}", (0, 1, -1))
        if len(path) == 2:
            return Decision(1, f"looked at {path[0]}{seen}", everywhere)
        distances = [(path[0] - hidden) % cells, (path[2] - hidden - path[1]) % cells]
        return self._end(state, *(min(d, cells - d) for d in distances), abs(path[1]))

    def _end(self, state: tuple[Any, ...], *facts: Hashable) -> Terminal:
        won = keyed(self.seed, facts).uniform(-1, 1)
        if state == (0, 0):
            won += self.extra
        return Terminal([won, -won])


class Copied(Game):
    """A game after a secret and idle choice of player 0, who remembers it."""

    def __init__(self, game: Game, copies: int = 3) -> None:
        self.game, self.copies, self.n_players = game, copies, game.n_players

    def root(self) -> tuple[Any, ...]:
        return ()

    def node(self, state: tuple[Any, ...]) -> Decision | Chance | Terminal:
        if not state:
            return Decision(0, "copy", tuple(range(self.copies)))
        node = self.game.node(state[1])
        if isinstance(node, Decision) and node.player == 0:
            return node._replace(infoset=f"{state[0]} {node.infoset}")
        return node

    def next(self, state: tuple[Any, ...], action: Any) -> tuple[Any, ...]:
        if not state:
            return action, self.game.root()
        return state[0], self.game.next(state[1], action)
