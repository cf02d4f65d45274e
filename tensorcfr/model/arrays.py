"""The flat arrays of a compiled game: its histories, its sequence form, its public tree.

What every array must satisfy is written in ``docs/data-model.md`` and checked by
:mod:`tensorcfr.invariants`.

Numbering, for all views:

* A *node* of a tree is a history, or a public history.  Nodes are in breadth-first order: a
  child's index is larger than its parent's, the children of a node are contiguous, and so are
  the children of consecutive nodes.
* An *infoset* index runs over all players: by player, then by level (how many
  infosets of the same player lie before it), then by number of actions.
* A *sequence* index runs over all players too.  The first sequence of each player is the
  empty one.  The infosets of one player, level and number of actions form a *bucket*; the
  sequences of a bucket are laid out ``[action, lane]`` with one lane per infoset, so that the
  lanes of an action are contiguous.
* Where private hands meet a public tree, the lanes of a bucket are a rectangle, hands x public
  nodes, laid out ``[hand, node]``: a hand's nodes are contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from ..payoff import PayoffPart
from .levels import levels_below_root

Part = TypeVar("Part")

CHANCE = -1
"""``HistoryTree.player`` and ``HistoryTree.infoset`` of a chance node."""
TERMINAL = -2
"""``HistoryTree.player`` and ``HistoryTree.infoset`` of a terminal."""
NO_PARENT = -1
"""``HistoryTree.parent`` of the root."""
NO_OUTCOME = -1
"""``HistoryTree.outcome`` of a node that chance did not step into."""

View = TypeVar("View")


def there(view: View | None) -> View:
    """A view of a game that has it: code that asks for it runs for no other game."""
    assert view is not None
    return view


HANDS_0, HANDS_1 = "hands of player 0", "hands of player 1"
"""Sizes of axes; see :func:`tensorcfr._util.declared.declared`."""


class HistoryTree(NamedTuple):
    """The game as a tree of histories."""

    parent: Annotated[np.ndarray, np.int64, "nodes"]
    """int64 (nodes,): the history one step shorter; ``NO_PARENT`` for the root, node 0."""
    first_child: Annotated[np.ndarray, np.int64, "nodes + 1"]
    """int64 (nodes + 1,): the children of node ``h`` are ``first_child[h]`` to
    ``first_child[h + 1] - 1``, in the order of the actions; this is the action offset."""
    player: Annotated[np.ndarray, np.int8, "nodes"]
    """int8 (nodes,): who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    infoset: Annotated[np.ndarray, np.int64, "nodes"]
    """int64 (nodes,): infoset of the player who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    probability: Annotated[np.ndarray, np.float64, "nodes"]
    """float64 (nodes,): chance probability of the step into the node; 1 where the parent is no
    chance node, and for the root."""
    outcome: Annotated[np.ndarray, np.int32, "nodes"]
    """int32 (nodes,): which of ``CompiledGame.outcome_labels`` chance chose to step into the
    node; ``NO_OUTCOME`` where the parent is no chance node, and for the root."""
    terminal: Annotated[np.ndarray, np.int64, "terminals"]
    """int64 (terminals,): the terminal nodes, ascending."""
    utility: Annotated[np.ndarray, np.float64, "terminals", "players"]
    """float64 (terminals, players): what each terminal pays, as multiples of
    ``CompiledGame.unit``."""

    @property
    def n_nodes(self) -> int:
        """Histories: decision nodes, chance nodes and terminals."""
        return len(self.parent)

    def traced(
        self, empty: np.ndarray, first: np.ndarray, stride: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Each player's last sequence at every node, int64 (players, nodes), and the probability
        with which chance leads there, float64 (nodes,).

        Args:
            empty: int64 (players,): the empty sequence of each player.
            first: int64 (infosets,): sequence of the first action of each infoset.
            stride: int64 (infosets,): distance between the sequences of consecutive actions.
        """
        last = np.empty((len(empty), self.n_nodes), dtype=np.int64)
        last[:, 0] = empty
        reach = np.ones(self.n_nodes)
        for level in levels_below_root(self.first_child):
            above = self.parent[level]
            last[:, level] = last[:, above]
            reach[level] = reach[above] * self.probability[level]
            moved = np.flatnonzero(self.player[above] >= 0)
            node, above = level.start + moved, above[moved]
            infoset, action = self.infoset[above], node - self.first_child[above]
            last[self.player[above], node] = first[infoset] + action * stride[infoset]
        return last, reach


class PublicTree(NamedTuple):
    """The game as private hands x public tree, where it has that form.

    Small integers are kept in the smallest signed type that holds them.
    """

    prior: Annotated[np.ndarray, np.float64, HANDS_0, HANDS_1]
    """float64 (hands of player 0, hands of player 1, ...): joint probability of the hands."""
    parent: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): as in :class:`HistoryTree`."""
    first_child: Annotated[np.ndarray, np.signedinteger, "nodes + 1"]
    """int (nodes + 1,): as in :class:`HistoryTree`."""
    player: Annotated[np.ndarray, np.int8, "nodes"]
    """int8 (nodes,): who acts; ``CHANCE`` or ``TERMINAL`` otherwise."""
    edge: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): label of the action or outcome that leads into the node; -1 for the root."""
    chance: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): row of ``chance_table`` for the step into the node; -1 where the parent is
    no chance node."""
    chance_table: Annotated[
        np.ndarray, np.float64, "tables", "hands of player 0", "hands of player 1"
    ]
    """float64 (tables, hands of player 0, ...): probability of the step given the hands."""
    weight: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): row of ``weight_table``."""
    weight_table: Annotated[
        np.ndarray, np.float64, "weights", "hands of player 0", "hands of player 1"
    ]
    """float64 (weights, hands of player 0, ...): product of the chance probabilities on the way
    to the node, given the hands."""
    payoff: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): which payoff a terminal has; -1 elsewhere."""
    coefficient: Annotated[np.ndarray, np.float64, "payoffs"]
    """float64 (payoffs,): multiple of the matrix."""
    matrix: Annotated[np.ndarray, np.int64, "payoffs"]
    """int64 (payoffs,): row of ``matrix_table``."""
    matrix_table: Annotated[
        np.ndarray, np.float64, "matrices", 2, "hands of player 0", "hands of player 1"
    ]
    """float64 (matrices, players, hands of player 0, ...): utilities."""
    bucket: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): bucket of a decision node's infosets; -1 elsewhere."""
    rank: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): place of a decision node among those of its bucket; -1 elsewhere."""

    @property
    def n_nodes(self) -> int:
        """Public nodes."""
        return len(self.parent)

    @property
    def n_players(self) -> int:
        """Players."""
        return self.prior.ndim

    @property
    def by_place(self) -> np.ndarray:
        """int64 (decision nodes that some deal gets to,): by bucket, then by rank."""
        deciding = np.flatnonzero(self.bucket >= 0)
        return deciding[np.lexsort((self.rank[deciding], self.bucket[deciding]))]

    @property
    def exists(self) -> np.ndarray:
        """Whether some deal gets to each public node, bool (nodes,)."""
        by_weight: np.ndarray = np.any(self.alive.reshape(len(self.weight_table), -1), axis=1)
        return by_weight[self.weight]

    @property
    def alive(self) -> np.ndarray:
        """The deals that chance lets get there, bool (weights, hands of player 0, ...)."""
        return (self.weight_table > 0) & (self.prior > 0)

    @property
    def n_deals(self) -> np.ndarray:
        """How many deals get to each public node, int64 (nodes,)."""
        by_weight: np.ndarray = self.alive.reshape(len(self.weight_table), -1).sum(axis=1)
        return by_weight[self.weight]

    def dealt(self, weight: int) -> np.ndarray:
        """The probability of every deal and of the chance on the way to nodes of a row of
        ``weight_table``, float64 (hands of player 0, ...)."""
        return np.where(self.prior > 0, self.prior * self.weight_table[weight], 0.0)

    def expected_utility(self, weight: np.ndarray | int, matrix: np.ndarray | int) -> np.ndarray:
        """Probability times utility of every deal at terminals, their coefficients left out.

        Args:
            weight: int, or int (terminals,): row of ``weight_table``.
            matrix: Likewise: row of ``matrix_table``.

        Returns:
            float64 (..., players, hands of player 0, ...), of the shape of ``weight`` before that;
            0 for the deals that chance does not let get there, whatever they would pay.
        """
        before_hands = -1 - self.n_players
        given = self.weight_table[weight]
        alive = np.expand_dims((given > 0) & (self.prior > 0), before_hands)
        probability = np.expand_dims(self.prior * given, before_hands)
        with np.errstate(invalid="ignore"):
            return np.where(alive, probability * self.matrix_table[matrix], 0.0)


class SequenceForm(NamedTuple):
    """The game as the solver sweeps it."""

    player_infosets: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` owns infosets ``[i]`` to ``[i + 1] - 1``."""
    player_sequences: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): likewise for sequences; the first one is the empty sequence."""
    player_buckets: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): likewise for buckets, shallow levels first."""
    bucket_level: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): from 0; greater than those of the own infosets passed before."""
    bucket_actions: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): actions of every infoset in the bucket."""
    bucket_lanes: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): infosets in the bucket."""
    bucket_infoset: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): first infoset of the bucket; lane ``l`` is infoset ``[b] + l``."""
    bucket_sequence: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): first sequence of the bucket; action ``a`` of lane ``l`` is sequence
    ``[b] + a * lanes + l``."""
    bucket_stride: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): lanes per hand, which is the public nodes of the bucket."""
    bucket_mask: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): row of ``hand_rank``: which hands the lanes of the bucket stand for."""
    hand_rank: Annotated[np.ndarray, np.int64, "masks", "most hands + 1"]
    """int64 (masks, most hands + 1): how many of the hands before ``h`` are possible, under each
    mask; the last column is the number of possible hands.  Games without private hands
    have one hand."""
    infoset_parent: Annotated[np.ndarray, np.uint32, "infosets"]
    """uint32 (infosets,): the owner's last sequence before the infoset."""
    operator: tuple[PayoffPart, ...]
    """The payoff operator ``g = A x``: the sum of these parts, at most one of each kind, none of
    them empty; see :mod:`tensorcfr.payoff`."""

    @property
    def owners(self) -> tuple[np.ndarray, np.ndarray]:
        """The infoset of each sequence, and the number of its action there, int64 (sequences,)
        each; -1 for the empty ones."""
        infoset, action = np.full((2, self.n_sequences), -1)
        shapes = (self.bucket_infoset, self.bucket_sequence, self.bucket_actions, self.bucket_lanes)
        for begin, first, actions, lanes in zip(*(s.tolist() for s in shapes), strict=True):
            own = slice(first, first + actions * lanes)
            infoset[own] = np.tile(begin + np.arange(lanes), actions)
            action[own] = np.repeat(np.arange(actions), lanes)
        return infoset, action

    @property
    def infoset_sequence(self) -> np.ndarray:
        """int64 (infosets,): sequence of the first action of each infoset."""
        lane = np.arange(self.n_infosets) - np.repeat(self.bucket_infoset, self.bucket_lanes)
        return np.repeat(self.bucket_sequence, self.bucket_lanes) + lane

    @property
    def infoset_stride(self) -> np.ndarray:
        """int64 (infosets,): distance between the sequences of consecutive actions."""
        return np.repeat(self.bucket_lanes, self.bucket_lanes)

    @property
    def infoset_player(self) -> np.ndarray:
        """int64 (infosets,): who acts."""
        return np.repeat(np.arange(self.n_players), np.diff(self.player_infosets))

    @property
    def infoset_actions(self) -> np.ndarray:
        """int64 (infosets,): actions of each infoset."""
        return np.repeat(self.bucket_actions, self.bucket_lanes)

    @property
    def bucket_player(self) -> np.ndarray:
        """int64 (buckets,): who acts."""
        return np.repeat(np.arange(self.n_players), np.diff(self.player_buckets))

    def of_player(self, player: int) -> slice:
        """The sequences of a player, the empty one first."""
        return slice(*self.player_sequences[player : player + 2].tolist())

    def held(self, bucket: int) -> np.ndarray:
        """int64: the hands that are possible at the infosets of a bucket."""
        return np.flatnonzero(np.diff(self.hand_rank[self.bucket_mask[bucket]]))

    def carried(self, to: SequenceForm, infoset: np.ndarray) -> np.ndarray:
        """int64 (sequences,): the sequence of another form in place of each.

        Args:
            to: The other form, with the same players.
            infoset: int64 (infosets,): its infoset in place of each, with the same actions.
        """
        found = np.repeat(to.player_sequences[:-1], np.diff(self.player_sequences))
        own, action = self.owners
        acts = own >= 0
        at = infoset[own[acts]]
        found[acts] = to.infoset_sequence[at] + action[acts] * to.infoset_stride[at]
        return found

    @property
    def n_players(self) -> int:
        """Players."""
        return len(self.player_infosets) - 1

    def part(self, kind: type[Part]) -> Part | None:
        """The part of the payoff operator of a kind, or None."""
        return next((part for part in self.operator if isinstance(part, kind)), None)

    @property
    def bare(self) -> SequenceForm:
        """The form without payoffs: kernels that do not look at them are compiled once for all
        kinds of payoffs."""
        return self._replace(operator=())

    @property
    def n_infosets(self) -> int:
        """Infosets of all players."""
        return len(self.infoset_parent)

    @property
    def n_sequences(self) -> int:
        """Sequences of all players, the empty ones included."""
        return int(self.player_sequences[-1])


FREE = -1.0
"""In place of a probability: the action is not locked."""


class LockedLanes(NamedTuple):
    """The lanes that are locked, bucket by bucket."""

    bucket: np.ndarray
    """int64 (buckets + 1,): bucket ``b`` has the locks ``[b]`` to ``[b + 1] - 1``."""
    lane: np.ndarray
    """int64 (locks,): lane of each lock, ascending within a bucket."""
    offset: np.ndarray
    """int64 (locks,): action ``a`` of a lock has the probability ``[offset + a]``."""
    probability: np.ndarray
    """float64: probabilities; :data:`FREE` where the action is not locked.  An infoset has none
    or at least two free actions."""


def bucket_layout(
    owner: np.ndarray, level: np.ndarray, actions: np.ndarray, lanes: np.ndarray, n_players: int
) -> dict[str, np.ndarray]:
    """The fields of a :class:`SequenceForm` without private hands, but for ``infoset_parent`` and
    ``operator``.

    Args:
        owner: int64 (buckets,): player of each bucket, ascending.
        level: int64 (buckets,): its level.
        actions: int64 (buckets,): actions of its infosets.
        lanes: int64 (buckets,): its infosets.
        n_players: Players.
    """
    players = np.arange(n_players + 1)
    buckets = np.searchsorted(owner, players)
    infosets, sequences = (np.append(0, np.cumsum(own)) for own in (lanes, lanes * actions))
    return {
        "player_infosets": infosets[buckets],
        "player_sequences": sequences[buckets] + players,
        "player_buckets": buckets,
        "bucket_level": level,
        "bucket_actions": actions,
        "bucket_lanes": lanes,
        "bucket_infoset": infosets[:-1],
        "bucket_sequence": sequences[:-1] + owner + 1,
        # To those who divide lanes by hands, there is one hand.
        "bucket_stride": lanes,
        "bucket_mask": np.zeros_like(lanes),
        "hand_rank": np.array([[0, 1]]),
    }


def infoset_layout(
    owner: np.ndarray, level: np.ndarray, actions: np.ndarray, n_players: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Infosets by player, level and number of actions: int64 (infosets,), their order; and the
    fields of :func:`bucket_layout`.  Arguments are as there, int64 (infosets,) each."""
    key = np.stack([owner, level, actions])
    kinds, lanes = np.unique(key, axis=1, return_counts=True)
    owner, level, actions = np.ascontiguousarray(kinds)
    return np.lexsort(key[::-1]), bucket_layout(owner, level, actions, lanes, n_players)


def tree_links(children: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``parent`` and ``first_child`` of a :class:`HistoryTree`.

    Args:
        children: int64 (nodes,): how many children each node has, in breadth-first order.

    Returns:
        int64 (nodes,) and int64 (nodes + 1,).
    """
    nodes = len(children)
    first_child = np.empty(nodes + 1, dtype=np.int64)
    first_child[0] = 1
    np.cumsum(children, out=first_child[1:])
    first_child[1:] += 1
    parent = np.empty(nodes, dtype=np.int64)
    parent[0] = NO_PARENT
    parent[1:] = np.repeat(np.arange(nodes), children)
    return parent, first_child


def named_arrays(view: Any, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Every array of a view by name; those of a part of the payoff operator are named
    ``"kind/array"``."""
    for name, value in view._asdict().items():
        if name == "operator":
            for part in value:
                yield from named_arrays(part, f"{prefix}{part.kind}/")
        else:
            yield f"{prefix}{name}", value


def frozen_arrays(value: Any) -> Any:
    """A tuple of arrays and tuples with every array read-only and in one piece, as kernels take
    what they only read: for a kernel, an array that may be written to is of another type, and a
    kernel is compiled again for other types.  A copy where an array is not in one piece."""
    return changed_arrays(value, lambda array: frozen_array(np.ascontiguousarray(array)))


def changed_arrays(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """An array that is changed, or a tuple of such values; what is neither stays."""
    if isinstance(value, np.ndarray):
        return change(value)
    if not isinstance(value, tuple):
        return value
    found = (changed_arrays(one, change) for one in value)
    return type(value)(*found) if hasattr(value, "_fields") else tuple(found)


def frozen_array(array: np.ndarray) -> np.ndarray:
    """The array, read-only; a view where others may write to it."""
    own = array.view()
    own.flags.writeable = False
    return own
