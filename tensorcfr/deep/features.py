"""Features of infosets, the inputs of networks."""

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
from ..uncompiled.uncompiled_game import UncompiledGame
from .inputs import MAX_OUTPUTS

HASHED_WIDTH, HASHES = 512, 3
"""Number of columns of hashed features, and number of columns of each fact."""
PREFIX = "openspiel:"
"""Prefix of the names of OpenSpiel's games."""
_NOT_THEIRS = "{} is not OpenSpiel's: features 'tensors' are OpenSpiel's own"
_NO_TENSORS = "{} has no information state tensors"


def make_features(game: FlatGame, kind: str | Features = "auto") -> np.ndarray:
    """Make features of every infoset.

    * ``"tensors"``: OpenSpiel's information state tensors, for OpenSpiel's games.
    * ``"public"``: one-hot encoding of the characters of the hand's label and of the public
      actions of each round, for games of private hands on a public tree.
    * ``"labels"``: one-hot encoding of the player's own actions and the characters of the infoset's
      label.
    * ``"hashed"``: each character of the label and its position are hashed to three of 512 columns,
      so every label has features (K. Weinberger et al., 'Feature hashing for large scale multitask
      learning', ICML 2009).
    * ``"auto"``: the first of the first three kinds that the game has.

    Features of every kind distinguish any two infosets.

    Args:
        game: The game.
        kind: One of these kinds, or features given by the user.

    Returns:
        float32 (infosets, width).

    Raises:
        ValueError: The game has no such features, or an array of features has another number of
            rows.  Also if only the digest of such an array is known, because the algorithm was read
            from a file.
        MissingExtraError: The game is OpenSpiel's, which is not installed.
    """
    if isinstance(kind, Features):
        if kind.array is None:
            raise ValueError("only the digest of the features is known: give the array")
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
    makers = {
        "tensors": _tensor_features,
        "public": _public_features,
        "labels": _label_features,
        "hashed": _hashed_features,
    }
    return makers[kind](game)


class RuleFeatures:
    """Features of single infosets on rules.

    Only ``"tensors"`` and ``"hashed"`` are possible, because these kinds do not depend on the other
    infosets of the game.

    Args:
        game: The game.
        kind: Option of the algorithm.  ``"auto"`` selects tensors if OpenSpiel has them, and hashed
            features otherwise.

    Raises:
        ValueError: Such features need a compiled game.
    """

    def __init__(self, game: UncompiledGame, kind: str | Features = "auto") -> None:
        openspiel_game = game.rules.game if isinstance(game.rules, OpenSpielGame) else None
        has_tensors = openspiel_game and openspiel_game.get_type().provides_information_state_tensor
        if isinstance(kind, Features) or kind in ("public", "labels"):
            described = "of your own" if isinstance(kind, Features) else repr(kind)
            raise ValueError(
                f"features {described} need all infosets of a compiled game, and {game.name} "
                "is not compiled: 'tensors' and 'hashed' need only rules"
            )
        if kind == "tensors" and openspiel_game is None:
            raise ValueError(_NOT_THEIRS.format(game.name))
        if kind == "tensors" and not has_tensors:
            raise ValueError(_NO_TENSORS.format(game.name))
        self.name = game.name
        self.needs_state = bool(has_tensors and kind != "hashed")
        """True if features are computed from a game state of the rules, not from the label."""
        self.width = HASHED_WIDTH
        """Number of features of an infoset."""
        self.n_outputs = MAX_OUTPUTS
        """Number of outputs of a network for the game."""
        self._numbered = openspiel_game is not None
        if openspiel_game is not None:
            self.n_outputs = int(openspiel_game.num_distinct_actions())
            if self.needs_state:
                self.width = int(openspiel_game.information_state_tensor_size())

    def of(self, player: int, label: str, state: Any = None) -> np.ndarray:
        """Compute the features of an infoset.

        Args:
            player: The acting player.
            label: Label of the infoset.
            state: A game state of the rules in the infoset, if :attr:`needs_state`.

        Returns:
            float32 (width,).

        Raises:
            ValueError: OpenSpiel's tensor has another width at this infoset; names it.
        """
        if not self.needs_state:
            return hashed_label(player, label)
        tensor = np.array(state.information_state_tensor(player), np.float32)
        if tensor.shape != (self.width,):
            raise ValueError(
                f"{len(tensor):,} features at infoset {label!r} of {self.name}; others have "
                f"{self.width:,}"
            )
        return tensor

    def outputs(self, label: str, actions: Sequence[Any]) -> list[int]:
        """Return the network output of each action: OpenSpiel's number of the action, or its
        position.

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
    """Compute the hashed features of a label, float32 (512,)."""
    features = np.zeros(HASHED_WIDTH, np.float32)
    np.add.at(features, _columns("player", player), 1.0)
    for position, character in enumerate(label):
        np.add.at(features, _columns(position, character), 1.0)
    return features


@lru_cache(maxsize=1 << 16)
def _columns(*fact: object) -> list[int]:
    """Hash a fact to its columns."""
    digest = blake2b(repr(fact).encode(), digest_size=4 * HASHES).digest()
    return [int(column) % HASHED_WIDTH for column in np.frombuffer(digest, "<u4")]


def _hashed_features(game: FlatGame) -> np.ndarray:
    """Compute the hashed features of every infoset, float32 (infosets, 512)."""
    labelled = zip(game.infoset_player.tolist(), game.infoset_labels, strict=True)
    return np.stack([hashed_label(player, label) for player, label in labelled])


def _public_features(game: FlatGame) -> np.ndarray:
    """Encode the characters of the hand's label, and the public actions by round and position."""
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
        rows.append(
            [("player", player), *characters("hand", nodes.hands[player][hand]), *seen[node]]
        )
    return one_hot(rows)


def _public_facts(nodes: PublicNodes, node: int) -> Iterable[tuple[object, ...]]:
    """Yield a fact for each public action and character of an outcome on the path to a node."""
    stage, position, parent = 0, 0, 0
    for child, label in nodes.path(node):
        if nodes.player(parent) == CHANCE:
            stage, position = stage + 1, 0
            yield from characters(("board", stage), label)
        else:
            yield "step", stage, position, label
            position += 1
        parent = child


def _label_features(game: FlatGame) -> np.ndarray:
    """Encode the characters of the label, and the player's earlier actions."""
    owner, action = game.form.owners
    rows = []
    for infoset in range(game.n_infosets):
        own_actions = []
        last = int(game.form.infoset_parent[infoset])
        while owner[last] >= 0:
            own_actions.append(game.infoset_actions[owner[last]][action[last]])
            last = int(game.form.infoset_parent[owner[last]])
        steps = [("own", position, label) for position, label in enumerate(reversed(own_actions))]
        player = int(game.infoset_player[infoset])
        rows.append(
            [("player", player), *characters("label", game.infoset_labels[infoset]), *steps]
        )
    return one_hot(rows)


def characters(kind: object, label: str) -> Iterable[tuple[object, ...]]:
    """Yield each character of a label, with its position, as a fact."""
    return ((kind, position, character) for position, character in enumerate(label))


def one_hot(rows: Sequence[Sequence[tuple[object, ...]]]) -> np.ndarray:
    """Encode facts as one-hot columns; facts that all rows share have no column.

    Returns:
        float32 (rows, columns), with at least one column.
    """
    column: dict[tuple[object, ...], int] = {}
    for row in rows:
        for fact in row:
            column.setdefault(fact, len(column))
    encoded = np.zeros((len(rows), max(len(column), 1)), np.float32)
    for index, row in enumerate(rows):
        encoded[index, [column[fact] for fact in row]] = 1.0
    differs = np.ptp(encoded, axis=0) > 0
    return np.ascontiguousarray(encoded[:, differs]) if differs.any() else encoded[:, :1]


def _tensor_features(game: FlatGame) -> np.ndarray:
    """Collect OpenSpiel's information state tensors by a traversal of the game."""
    if not game.name.startswith(PREFIX):
        raise ValueError(_NOT_THEIRS.format(game.name))
    rules = OpenSpielGame(game.name.removeprefix(PREFIX))
    if not rules.game.get_type().provides_information_state_tensor:
        raise ValueError(_NO_TENSORS.format(game.name))
    tensors: dict[str, np.ndarray] = {}
    pending = [rules.root()]
    while pending and len(tensors) < game.n_infosets:
        state = pending.pop()
        node = rules.node(state)
        if isinstance(node, Terminal):
            continue
        if isinstance(node, Decision):
            assert node.infoset is not None
            if node.infoset not in tensors:
                tensor = state.information_state_tensor(node.player)
                tensors[node.infoset] = np.array(tensor, np.float32)
            actions: Iterable[object] = node.actions
        else:
            actions = node.outcomes
        pending += [rules.next(state, action) for action in actions]  # type: ignore[arg-type]
    width = max(map(len, tensors.values()))
    features = np.zeros((game.n_infosets, width), np.float32)
    for infoset, label in enumerate(game.infoset_labels):
        tensor = tensors[label]
        features[infoset, : len(tensor)] = tensor
    return features
