"""Compiled games with something wrong in them: what the tests of the invariants are made of."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from tensorcfr._util import limits
from tensorcfr.compilers import compile_game, payoff_blocks
from tensorcfr.model.arrays import SequenceForm
from tensorcfr.model.flat_game import FlatGame, Merged
from tensorcfr.payoff import KINDS
from tensorcfr.rules import Chance, Decision, Game, Payoff, PublicTreeGame, Terminal

Spoil = Callable[[FlatGame], FlatGame]


class Forked(Game):
    """One player, who does not see the coin, has infosets of one level with 2 and 3 actions."""

    n_players = 1

    def node(self, history: tuple[str, ...]) -> Chance | Decision | Terminal:
        if history == ():
            return Chance({"heads": 0.5, "tails": 0.5})
        if len(history) == 1:
            return Decision(0, "top", ("l", "r"))
        if len(history) == 2:
            return Decision(0, history[1], ("a", "b") if history[1] == "l" else ("a", "b", "c"))
        return Terminal((1.0,))


class Suited(PublicTreeGame):
    """Two suits of two ranks, a public coin, and a bet: has symmetries and public chance."""

    hands = [("a1", "a2", "b1", "b2")] * 2
    prior = (np.ones((4, 4)) - np.eye(4)) / 12

    def node(self, state: tuple[str, ...]) -> Chance | Decision | Payoff:
        if not state:
            return Decision(0, None, ("pass", "bet"))
        if state == ("bet",):
            return Decision(1, None, ("fold", "call"))
        if state in (("pass",), ("bet", "call")):
            return Chance({"heads": 0.5, "tails": 0.5})
        return Payoff(1.0 + len(state), "fold" if state[-1] == "fold" else "show")

    def matrix(self, key: Hashable) -> np.ndarray:
        high = np.array([1, 2, 1, 2])
        won = np.ones((4, 4)) if key == "fold" else np.sign(np.subtract.outer(high, high))
        return np.stack([won, -won]).astype(float)


def with_part(form: SequenceForm, part: Any) -> SequenceForm:
    """The form with a part of the payoff operator in place of the one of its kind."""
    others = [one for one in form.operator if one.kind != part.kind]
    return form._replace(operator=(*others, part))


@cache
def compiled(name: str) -> FlatGame:
    """A game by name; ``histories:`` before it for one that keeps its history tree."""
    if name.startswith("histories:"):
        game = compiled(name.removeprefix("histories:"))
        return replace(game, histories=game.tree)
    if name == "lazy":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, "LAZY_LABELS_FROM", 0)
            return compile_game("liars_dice(faces=4)")
    if name == "blocks":
        # Where a block always pays, merged games and their empty sequences have blocks too.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(payoff_blocks, "ENTRY_NS", 1e9)
            return compile_game(Suited())
    rules: dict[str, Any] = {"forked": Forked(), "suited": Suited()}
    return compile_game(rules.get(name, name))


def changed(view: str, field: str, at: Any, to: Any) -> Spoil:
    """Change one value of an array; a part of a view is named ``part.field``."""

    def spoil(game: FlatGame) -> FlatGame:
        def change(array: np.ndarray) -> np.ndarray:
            array = array.copy()
            array[at] = to
            return array

        return within(view, field, change)(game)

    return spoil


def within(view: str, field: str, change: Callable[[np.ndarray], Any]) -> Spoil:
    """Change a whole array."""

    def spoil(game: FlatGame) -> FlatGame:
        if view == "merged":
            assert game.merged is not None
            if field == "sequence":
                return replace(game, merged=Merged(game.merged.form, change(game.merged.sequence)))
            small = replace(game, form=game.merged.form)
            form = within("form", field, change)(small).form
            return replace(game, merged=Merged(form, game.merged.sequence))
        if view == "public":
            assert game.public is not None
            tree = game.public.tree
            tree = tree._replace(**{field: change(getattr(tree, field))})
            return replace(game, public=game.public._replace(tree=tree))
        record: Any = game.histories if view == "tree" else game.form
        kind, _, name = field.rpartition(".")
        inner = record.part(KINDS[kind]) if kind else record
        inner = inner._replace(**{name: change(getattr(inner, name))})
        attribute = "histories" if view == "tree" else "form"
        new: Any = {attribute: with_part(record, inner) if kind else inner}
        return replace(game, **new)

    return spoil


def tree(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the history tree."""
    return changed("tree", field, at, to)


def form(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the sequence form."""
    return changed("form", field, at, to)


def public(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the public tree."""
    return changed("public", field, at, to)


def merged(field: str, *at: Any, to: Any) -> Spoil:
    """Change one value of an array of the merged form."""
    return changed("merged", field, at, to)


def whole(view: str = "form", **arrays: Callable[[np.ndarray], Any]) -> Spoil:
    """Change whole arrays of a view; a part of it is named ``part__field``."""
    return both(*(within(view, name.replace("__", "."), f) for name, f in arrays.items()))


def labels(field: str, at: int, to: Any) -> Spoil:
    """Change one label."""

    def spoil(game: FlatGame) -> FlatGame:
        old = getattr(game, field)
        new: Any = {field: (*old[:at], to, *old[at + 1 :])}
        return replace(game, **new)

    return spoil


def both(*steps: Spoil) -> Spoil:
    """One change after the other."""

    def spoil(game: FlatGame) -> FlatGame:
        for step in steps:
            game = step(game)
        return game

    return spoil


def swap(a: int, b: int) -> Callable[[np.ndarray], np.ndarray]:
    """Exchange two columns (the only axis, or the last)."""

    def swapped(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[..., [a, b]] = array[..., [b, a]]
        return array

    return swapped


class Bad(NamedTuple):
    """One row: an invariant, how a game comes to break it, and the text of the error."""

    number: str
    spoil: Spoil
    message: str
    game: str = "histories:kuhn"


def cast(dtype: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: array.astype(dtype)


def unlabelled(game: FlatGame) -> FlatGame:
    return replace(game, infoset_labels=(), infoset_actions=())
