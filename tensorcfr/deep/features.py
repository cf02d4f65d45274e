"""Features of infosets: what a network sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from ..algorithms.deep import Features
from ..formats.openspiel import OpenSpielGame
from ..model.arrays import CHANCE
from ..model.flat_game import FlatGame
from ..model.public_nodes import PublicNodes
from ..rules import Decision, Terminal
from ..uncompiled.game import UncompiledGame
from .inputs import MOST_OUTPUTS

HASHED_WIDTH, HASHES = 512, 3
"""Columns of hashed features, and how many of them a fact has."""
PREFIX = "openspiel:"
"""Names of games that came from OpenSpiel begin with it."""
_NOT_THEIRS = "{} is not OpenSpiel's: features 'tensors' are OpenSpiel's own"
_NO_TENSORS = "{} has no information state tensors"


def make_features(game: FlatGame, kind: str | Features = "auto") -> np.ndarray:
    """Features of every infoset.

    * ``"tensors"``: OpenSpiel's information state tensors, for games that came from OpenSpiel;
    * ``"public"``: the label of the private hand, sign by sign, and the public steps, round by
      round, each as one-hot, for games of private hands on a public tree;
    * ``"labels"``: the player's own actions and the infoset's label, sign by sign, as one-hot;
    * ``"hashed"``: the label sign by sign, each sign and its place hashed to three columns of 512,
      so that any label has features, known or not (K. Weinberger et al., 'Feature hashing for large
      scale multitask learning', ICML 2009);
    * ``"auto"``: the first of the first three that the game has.

    Every kind tells any two infosets apart.

    Args:
        game: The game.
        kind: One of these, or features of your own.

    Returns:
        float32 (infosets, width).

    Raises:
        ValueError: The game has no such features; features of your own are not for as many
            infosets, or the algorithm came from a file and they are not in it.
        MissingExtraError: The game is OpenSpiel's, which is not installed.
    """
    if isinstance(kind, Features):
        if kind.array is None:
            raise ValueError("the features are named by digest only: give the array")
        if len(kind.array) != game.n_infosets:
            raise ValueError(
                f"features have {len(kind.array):,} rows; {game.name} has "
                f"{game.n_infosets:,} infosets"
            )
        return kind.array
    if kind == "auto":
        if game.name.startswith(PREFIX):
            kind = "tensors"
        else:
            kind = "labels" if game.public is None else "public"
    made = {"tensors": _tensors, "public": _of_public_tree, "labels": _of_labels, "hashed": _hashed}
    return made[kind](game)


class RuleFeatures:
    """Features of infosets that come one at a time, by the rules.

    Those of any infoset are a function of it alone: ``"tensors"``, or ``"hashed"``.

    Args:
        game: The game.
        kind: What the algorithm asks for; ``"auto"`` for tensors where OpenSpiel has them.

    Raises:
        ValueError: There are no such features without a compiled game.
    """

    def __init__(self, game: UncompiledGame, kind: str | Features = "auto") -> None:
        theirs = game.rules.game if isinstance(game.rules, OpenSpielGame) else None
        has_tensors = theirs and theirs.get_type().provides_information_state_tensor
        if isinstance(kind, Features) or kind in ("public", "labels"):
            said = "of your own" if isinstance(kind, Features) else repr(kind)
            raise ValueError(
                f"features {said} are made for all infosets of a compiled game, and {game.name} is "
                "not compiled: 'tensors' and 'hashed' need rules only"
            )
        if kind == "tensors" and theirs is None:
            raise ValueError(_NOT_THEIRS.format(game.name))
        if kind == "tensors" and not has_tensors:
            raise ValueError(_NO_TENSORS.format(game.name))
        self.name = game.name
        self.needs_state = bool(has_tensors and kind != "hashed")
        """Whether it takes a state of the rules to make features, and not the label alone."""
        self.width = HASHED_WIDTH
        """Features of an infoset."""
        self.n_outputs = MOST_OUTPUTS
        """Outputs of a network for the game."""
        self._numbered = theirs is not None
        if theirs is not None:
            self.n_outputs = int(theirs.num_distinct_actions())
            if self.needs_state:
                self.width = int(theirs.information_state_tensor_size())

    def of(self, player: int, label: str, state: Any = None) -> np.ndarray:
        """The features of an infoset, float32 (width,).

        Args:
            player: Who acts.
            label: Its label.
            state: A state of the rules there, where :attr:`needs_state`.

        Raises:
            ValueError: They have another width than those of other infosets; names it.
        """
        if not self.needs_state:
            return hashed_label(player, label)
        found = np.array(state.information_state_tensor(player), np.float32)
        if found.shape != (self.width,):
            raise ValueError(
                f"{len(found):,} features at infoset {label!r} of {self.name}; others have "
                f"{self.width:,}"
            )
        return found

    def outputs(self, label: str, actions: Sequence[Any]) -> list[int]:
        """The network's output for each action: OpenSpiel's number of it, or its place.

        Raises:
            ValueError: There are more actions than outputs; names the infoset.
        """
        if self._numbered:
            return [action.number for action in actions]
        if len(actions) > self.n_outputs:
            raise ValueError(
                f"infoset {label!r} of {self.name} has {len(actions):,} actions; on rules a "
                f"network has {self.n_outputs} outputs"
            )
        return list(range(len(actions)))


def hashed_label(player: int, label: str) -> np.ndarray:
    """Hashed features of a label, float32 (512,)."""
    found = np.zeros(HASHED_WIDTH, np.float32)
    np.add.at(found, _columns("player", player), 1.0)
    for place, sign in enumerate(label):
        np.add.at(found, _columns(place, sign), 1.0)
    return found


@lru_cache(maxsize=1 << 16)
def _columns(*fact: object) -> list[int]:
    """The columns of a fact."""
    digest = blake2b(repr(fact).encode(), digest_size=4 * HASHES).digest()
    return [int(column) % HASHED_WIDTH for column in np.frombuffer(digest, "<u4")]


def _hashed(game: FlatGame) -> np.ndarray:
    """Hashed features of every infoset."""
    labelled = zip(game.infoset_player.tolist(), game.infoset_labels, strict=True)
    return np.stack([hashed_label(player, label) for player, label in labelled])


def _of_public_tree(game: FlatGame) -> np.ndarray:
    """Signs of the hand's label; public steps by round and place in it."""
    nodes = game.nodes
    if nodes is None:
        raise ValueError(f"{game.name} has no public tree, which features 'public' are made of")
    seen: dict[int, tuple[tuple[object, ...], ...]] = {}
    rows = []
    for infoset in range(game.n_infosets):
        node, hand = game.places.place(infoset)
        if node not in seen:
            seen[node] = tuple(_public_facts(nodes, node))
        player = nodes.player(node)
        rows.append([("player", player), *_signs("hand", nodes.hands[player][hand]), *seen[node]])
    return _one_hot(rows)


def _public_facts(nodes: PublicNodes, node: int) -> Iterable[tuple[object, ...]]:
    """Each public step on the way to a node as a fact."""
    stage, place, before = 0, 0, 0
    for below, label in nodes.path(node):
        if nodes.player(before) == CHANCE:
            stage, place = stage + 1, 0
            yield from _signs(("board", stage), label)
        else:
            yield "step", stage, place, label
            place += 1
        before = below


def _of_labels(game: FlatGame) -> np.ndarray:
    """Signs of the label, and the player's own actions so far."""
    owner, action = game.form.owners
    rows = []
    for infoset in range(game.n_infosets):
        own = []
        last = int(game.form.infoset_parent[infoset])
        while owner[last] >= 0:
            own.append(game.infoset_actions[owner[last]][action[last]])
            last = int(game.form.infoset_parent[owner[last]])
        steps = [("own", place, label) for place, label in enumerate(reversed(own))]
        player = int(game.infoset_player[infoset])
        rows.append([("player", player), *_signs("label", game.infoset_labels[infoset]), *steps])
    return _one_hot(rows)


def _signs(what: object, label: str) -> Iterable[tuple[object, ...]]:
    """Each sign of a label as a fact."""
    return ((what, place, sign) for place, sign in enumerate(label))


def _one_hot(rows: Sequence[Sequence[tuple[object, ...]]]) -> np.ndarray:
    """A column for each fact that holds for some rows and not for all."""
    column: dict[tuple[object, ...], int] = {}
    for row in rows:
        for fact in row:
            column.setdefault(fact, len(column))
    found = np.zeros((len(rows), max(len(column), 1)), np.float32)
    for index, row in enumerate(rows):
        found[index, [column[fact] for fact in row]] = 1.0
    differs = np.ptp(found, axis=0) > 0
    return np.ascontiguousarray(found[:, differs]) if differs.any() else found[:, :1]


def _tensors(game: FlatGame) -> np.ndarray:
    """OpenSpiel's information state tensors."""
    if not game.name.startswith(PREFIX):
        raise ValueError(_NOT_THEIRS.format(game.name))
    rules = OpenSpielGame(game.name.removeprefix(PREFIX))
    if not rules.game.get_type().provides_information_state_tensor:
        raise ValueError(_NO_TENSORS.format(game.name))
    found: dict[str, np.ndarray] = {}
    left = [rules.root()]
    while left and len(found) < game.n_infosets:
        state = left.pop()
        node = rules.node(state)
        if isinstance(node, Terminal):
            continue
        if isinstance(node, Decision):
            assert node.infoset is not None
            if node.infoset not in found:
                tensor = state.information_state_tensor(node.player)
                found[node.infoset] = np.array(tensor, np.float32)
            actions: Iterable[object] = node.actions
        else:
            actions = node.outcomes
        left += [rules.next(state, action) for action in actions]  # type: ignore[arg-type]
    width = max(map(len, found.values()))
    features = np.zeros((game.n_infosets, width), np.float32)
    for infoset, label in enumerate(game.infoset_labels):
        tensor = found[label]
        features[infoset, : len(tensor)] = tensor
    return features
