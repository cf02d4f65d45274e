"""The flat arrays of a compiled game: its histories, its sequence form, its public tree.

``docs/data-model.md`` shows them in an example, ``docs/reference/invariants.md`` lists their
invariants, and :mod:`tensorcfr.compilers.invariants` checks these.

Numbering, for all views:

* A *node* of a tree is a history, or a public history.  Nodes are in breadth-first order: a child's
  index is larger than its parent's, the children of a node are contiguous, and so are the children
  of consecutive nodes.
* An *infoset* index runs over all players: by player, then by level (the number of infosets of the
  same player before it), then by number of actions.
* A *sequence* index runs over all players too.  The first sequence of each player is the empty one.
  The infosets of one player, level and number of actions form a *bucket*.  The sequences of a
  bucket are laid out ``[action, lane]`` with one lane per infoset, so that the lanes of an action
  are contiguous.
* In a game of private hands and a public tree, the lanes of a bucket are a rectangle, hands x
  public nodes, laid out ``[hand, node]``: the nodes of a hand are contiguous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from ..payoff import PayoffPart

Part = TypeVar("Part")

CHANCE = -1
"""``HistoryTree.player`` and ``HistoryTree.infoset`` of a chance node."""
TERMINAL = -2
"""``HistoryTree.player`` and ``HistoryTree.infoset`` of a terminal."""
NO_PARENT = -1
"""``HistoryTree.parent`` of the root."""
NO_OUTCOME = -1
"""``HistoryTree.outcome`` of the root, and of a node after an action."""

View = TypeVar("View")


def not_none(view: View | None) -> View:
    """Return a view that the game must have: the caller never runs for a game without it."""
    assert view is not None
    return view


HANDS_0, HANDS_1 = "hands of player 0", "hands of player 1"
"""Sizes of axes; see :func:`tensorcfr._util.declared.declared`."""


class HistoryTree(NamedTuple):
    """Game as a tree of histories."""

    parent: Annotated[np.ndarray, np.int64, "nodes"]
    """int64 (nodes,): history one action or chance outcome shorter; ``NO_PARENT`` for the root,
    node 0."""
    first_child: Annotated[np.ndarray, np.int64, "nodes + 1"]
    """int64 (nodes + 1,): the children of node ``h`` are ``first_child[h]`` to
    ``first_child[h + 1] - 1``, in the order of the actions."""
    player: Annotated[np.ndarray, np.int8, "nodes"]
    """int8 (nodes,): acting player; ``CHANCE`` or ``TERMINAL`` otherwise."""
    infoset: Annotated[np.ndarray, np.int64, "nodes"]
    """int64 (nodes,): infoset of the acting player; ``CHANCE`` or ``TERMINAL`` otherwise."""
    probability: Annotated[np.ndarray, np.float64, "nodes"]
    """float64 (nodes,): probability of the chance outcome that leads into the node; 1 for the root
    and after an action."""
    outcome: Annotated[np.ndarray, np.int32, "nodes"]
    """int32 (nodes,): index in ``CompiledGame.outcome_labels`` of the chance outcome that leads
    into the node; ``NO_OUTCOME`` for the root and after an action."""
    terminal: Annotated[np.ndarray, np.int64, "terminals"]
    """int64 (terminals,): terminal nodes, ascending."""
    utility: Annotated[np.ndarray, np.float64, "terminals", "players"]
    """float64 (terminals, players): utilities, as multiples of ``CompiledGame.unit``."""

    @property
    def n_nodes(self) -> int:
        """Number of histories: decision nodes, chance nodes and terminals."""
        return len(self.parent)

    def traced(
        self, empty: np.ndarray, first: np.ndarray, stride: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compute each player's last sequence and the chance reach of every node.

        Args:
            empty: int64 (players,): empty sequence of each player.
            first: int64 (infosets,): sequence of the first action of each infoset.
            stride: int64 (infosets,): distance between the sequences of consecutive actions.

        Returns:
            int64 (players, nodes): last sequences; float64 (nodes,): product of the chance
            probabilities on the path to the node.
        """
        last = np.empty((len(empty), self.n_nodes), dtype=np.int64)
        last[:, 0] = empty
        reach = np.ones(self.n_nodes)
        # A level depends only on the level above, so each level is one vectorised operation.
        for level in levels_below_root(self.first_child):
            parent = self.parent[level]
            last[:, level] = last[:, parent]
            reach[level] = reach[parent] * self.probability[level]
            # Only an action of the player changes their last sequence.
            moved = np.flatnonzero(self.player[parent] >= 0)
            node, parent = level.start + moved, parent[moved]
            infoset, action = self.infoset[parent], node - self.first_child[parent]
            last[self.player[parent], node] = first[infoset] + action * stride[infoset]
        return last, reach


class PublicTree(NamedTuple):
    """Game as private hands x public tree, if it has that form.

    Small integers are kept in the smallest signed type that holds them.
    """

    prior: Annotated[np.ndarray, np.float64, HANDS_0, HANDS_1]
    """float64 (hands of player 0, hands of player 1, ...): joint probability of the hands."""
    parent: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): as in :class:`HistoryTree`."""
    first_child: Annotated[np.ndarray, np.signedinteger, "nodes + 1"]
    """int (nodes + 1,): as in :class:`HistoryTree`."""
    player: Annotated[np.ndarray, np.int8, "nodes"]
    """int8 (nodes,): acting player; ``CHANCE`` or ``TERMINAL`` otherwise."""
    edge: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): label of the action or outcome that leads into the node; -1 for the root."""
    chance: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): row of ``chance_table`` for the outcome that leads into the node; -1 for the
    root and after an action."""
    chance_table: Annotated[
        np.ndarray, np.float64, "tables", "hands of player 0", "hands of player 1"
    ]
    """float64 (tables, hands of player 0, ...): probability of the outcome given the hands."""
    weight: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): row of ``weight_table``."""
    weight_table: Annotated[
        np.ndarray, np.float64, "weights", "hands of player 0", "hands of player 1"
    ]
    """float64 (weights, hands of player 0, ...): product of the chance probabilities on the path to
    the node, given the hands."""
    payoff: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): index of a terminal's payoff; -1 elsewhere."""
    coefficient: Annotated[np.ndarray, np.float64, "payoffs"]
    """float64 (payoffs,): factor of the matrix."""
    matrix: Annotated[np.ndarray, np.int64, "payoffs"]
    """int64 (payoffs,): row of ``matrix_table``."""
    matrix_table: Annotated[
        np.ndarray, np.float64, "matrices", 2, "hands of player 0", "hands of player 1"
    ]
    """float64 (matrices, players, hands of player 0, ...): utilities."""
    bucket: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): bucket of a decision node's infosets; -1 elsewhere."""
    rank: Annotated[np.ndarray, np.signedinteger, "nodes"]
    """int (nodes,): position of a decision node among the nodes of its bucket; -1 elsewhere."""

    @property
    def n_nodes(self) -> int:
        """Number of public nodes."""
        return len(self.parent)

    @property
    def n_players(self) -> int:
        """Number of players."""
        return self.prior.ndim

    @property
    def by_place(self) -> np.ndarray:
        """int64 (nodes,): decision nodes that some deal reaches, by bucket, then by rank."""
        deciding = np.flatnonzero(self.bucket >= 0)
        return deciding[np.lexsort((self.rank[deciding], self.bucket[deciding]))]

    @property
    def exists(self) -> np.ndarray:
        """Public nodes that some deal reaches, bool (nodes,)."""
        by_weight: np.ndarray = np.any(self.alive.reshape(len(self.weight_table), -1), axis=1)
        return by_weight[self.weight]

    @property
    def alive(self) -> np.ndarray:
        """Deals with positive probability for each row of ``weight_table``, bool (weights, hands of
        player 0, ...)."""
        return (self.weight_table > 0) & (self.prior > 0)

    @property
    def n_deals(self) -> np.ndarray:
        """int64 (nodes,): number of deals that reach each public node."""
        by_weight: np.ndarray = self.alive.reshape(len(self.weight_table), -1).sum(axis=1)
        return by_weight[self.weight]

    @property
    def n_dealing(self) -> int:
        """Number of chance nodes at which a hand is dealt, one player after the other."""
        deals = np.argwhere(self.prior > 0)
        return sum(len(np.unique(deals[:, :player], axis=0)) for player in range(self.n_players))

    def deal_probability(self, weight: int) -> np.ndarray:
        """Return the probability of each deal and of the chance outcomes on the path to the nodes
        with a row of ``weight_table``, float64 (hands of player 0, ...)."""
        return np.where(self.prior > 0, self.prior * self.weight_table[weight], 0.0)

    def expected_utility(self, weight: np.ndarray | int, matrix: np.ndarray | int) -> np.ndarray:
        """Return probability times utility of every deal at terminals, without their coefficients.

        Args:
            weight: int, or int (terminals,): row of ``weight_table``.
            matrix: int, or int (terminals,): row of ``matrix_table``.

        Returns:
            float64 (..., players, hands of player 0, ...), with the shape of ``weight`` in front; 0
            for deals of probability 0, even if their utility is infinite or NaN.
        """
        # Matrices have an axis of players in front of the hands, so probabilities get one too.
        before_hands = -1 - self.n_players
        chance = self.weight_table[weight]
        alive = np.expand_dims((chance > 0) & (self.prior > 0), before_hands)
        probability = np.expand_dims(self.prior * chance, before_hands)
        # Deals that cannot occur may have infinite utilities; ``where`` drops 0 times infinity.
        with np.errstate(invalid="ignore"):
            return np.where(alive, probability * self.matrix_table[matrix], 0.0)

    def payoffs(self) -> Iterator[np.ndarray]:
        """Yield the utilities of deals, for each pair of a payoff and a row of ``weight_table`` at
        a terminal, float64 (players, deals)."""
        is_terminal, weights = self.payoff >= 0, len(self.weight_table)
        # Terminals with the same pair pay the same deals the same amounts.
        pairs = np.unique(
            self.payoff[is_terminal].astype(np.int64) * weights + self.weight[is_terminal]
        )
        alive = self.alive
        for pair in pairs.tolist():
            payoff, weight = divmod(pair, weights)
            matrix = self.matrix_table[self.matrix[payoff]]
            yield self.coefficient[payoff] * matrix[:, alive[weight]]

    @property
    def utilities(self) -> np.ndarray:
        """float64 (payoffs of deals, players): see :attr:`CompiledGame.utilities`."""
        return np.concatenate([np.empty((0, self.n_players)), *(paid.T for paid in self.payoffs())])


class Copies(NamedTuple):
    """Actions with equal values, of which a merged form follows only one.

    The first of several copies, actions of one infoset, has the sum of their payoffs, and the
    infosets after it represent those after all of them.  The value of each copy is an equal share
    of the sum.
    """

    bucket: Annotated[np.ndarray, np.int64, "buckets + 1"]
    """int64 (buckets + 1,): bucket ``b`` has the copies ``[b]`` to ``[b + 1] - 1``."""
    sequence: Annotated[np.ndarray, np.uint32, "copies"]
    """uint32 (copies,): sequence of each copy, in descending order within a bucket, so that the
    first of several copies comes last."""
    first: Annotated[np.ndarray, np.uint32, "copies"]
    """uint32 (copies,): for each copy, the first of its group, which has the smallest
    sequence."""
    share_of: Annotated[np.ndarray, np.float64, "copies"]
    """float64 (copies,): 1 divided by the number of these copies."""

    def share(self, bucket: int, value: np.ndarray) -> None:
        """Set the values of the copies in a bucket to equal shares of the first copy's value.

        Kernels call :func:`tensorcfr.kernels.tiles.share_values`.

        Args:
            bucket: The bucket.
            value: float64 (sequences,): modified in place.
        """
        of_bucket = slice(*self.bucket[bucket : bucket + 2].tolist())
        value[self.sequence[of_bucket]] = value[self.first[of_bucket]] * self.share_of[of_bucket]


class Bucket(NamedTuple):
    """Positions of a bucket of infosets in arrays."""

    infosets: slice
    """Infosets of the bucket."""
    sequences: slice
    """Sequences of the infosets: those of all first actions, then those of all second ones, and so
    on."""
    actions: int
    """Number of actions of each infoset."""
    lanes: int
    """Number of infosets."""

    def table(self, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers of the bucket, a view (actions, lanes) of an array (sequences,)."""
        return numbers[self.sequences].reshape(self.actions, self.lanes)


class SequenceForm(NamedTuple):
    """Game in sequence form: the arrays that solvers pass over."""

    player_infosets: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` owns infosets ``[i]`` to ``[i + 1] - 1``."""
    player_sequences: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` owns sequences ``[i]`` to ``[i + 1] - 1``; the first one
    is the empty sequence."""
    player_buckets: Annotated[np.ndarray, np.int64, "players + 1"]
    """int64 (players + 1,): player ``i`` owns buckets ``[i]`` to ``[i + 1] - 1``, shallow levels
    first."""
    bucket_level: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): level, from 0; larger than the level of any infoset of the player earlier
    on the path."""
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
    """int64 (buckets,): lanes per hand, that is the number of public nodes of the bucket."""
    bucket_mask: Annotated[np.ndarray, np.int64, "buckets"]
    """int64 (buckets,): row of ``hand_rank``, which has the hands of the bucket's lanes."""
    hand_rank: Annotated[np.ndarray, np.int64, "masks", "most hands + 1"]
    """int64 (masks, most hands + 1): number of possible hands before hand ``h``, for each mask; the
    last column is the number of possible hands.  Games without private hands have one hand."""
    infoset_parent: Annotated[np.ndarray, np.uint32, "infosets"]
    """uint32 (infosets,): last sequence of the owner before the infoset."""
    operator: tuple[PayoffPart, ...]
    """Payoff operator ``g = A x``, the sum of these parts; at most one part of each kind, and no
    empty part.  See :mod:`tensorcfr.payoff`."""
    copies: Copies | None = None
    """Actions with equal values, in a merged form; None in all other forms."""

    @property
    def buckets(self) -> list[Bucket]:
        """Buckets of all players; those of a player from the shallowest level to the deepest."""
        arrays = (self.bucket_infoset, self.bucket_sequence, self.bucket_actions, self.bucket_lanes)
        return [
            Bucket(
                slice(begin, begin + lanes), slice(first, first + actions * lanes), actions, lanes
            )
            for begin, first, actions, lanes in zip(*(a.tolist() for a in arrays), strict=True)
        ]

    def buckets_of(self, player: int) -> list[Bucket]:
        """Return the buckets of a player."""
        return self.buckets[slice(*self.player_buckets[player : player + 2].tolist())]

    @property
    def owners(self) -> tuple[np.ndarray, np.ndarray]:
        """Infoset of each sequence, and the index of its action there, int64 (sequences,) each; -1
        for the empty sequences."""
        infoset, action = np.full((2, self.n_sequences), -1)
        for bucket in self.buckets:
            bucket.table(infoset)[:] = np.arange(bucket.infosets.start, bucket.infosets.stop)
            bucket.table(action)[:] = np.arange(bucket.actions)[:, None]
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
        """int64 (infosets,): acting player."""
        return np.repeat(np.arange(self.n_players), np.diff(self.player_infosets))

    @property
    def infoset_actions(self) -> np.ndarray:
        """int64 (infosets,): actions of each infoset."""
        return np.repeat(self.bucket_actions, self.bucket_lanes)

    @property
    def bucket_player(self) -> np.ndarray:
        """int64 (buckets,): acting player."""
        return np.repeat(np.arange(self.n_players), np.diff(self.player_buckets))

    def of_player(self, player: int) -> slice:
        """Return the sequences of a player, the empty one first."""
        return slice(*self.player_sequences[player : player + 2].tolist())

    def possible_hands(self, bucket: int) -> np.ndarray:
        """Return the hands that are possible at the infosets of a bucket, int64 (hands,)."""
        return np.flatnonzero(np.diff(self.hand_rank[self.bucket_mask[bucket]]))

    def map_sequences(self, to: SequenceForm, infoset: np.ndarray) -> np.ndarray:
        """Map each sequence to a sequence of another form.

        Args:
            to: The other form, with the same players.
            infoset: int64 (infosets,): infoset of ``to`` for each infoset, with the same actions.

        Returns:
            int64 (sequences,): sequence of ``to``; the empty sequences map to the empty sequences.
        """
        sequence = np.repeat(to.player_sequences[:-1], np.diff(self.player_sequences))
        own_infoset, action = self.owners
        # The empty sequences keep this entry; all others get theirs.
        acts = own_infoset >= 0
        target = infoset[own_infoset[acts]]
        sequence[acts] = to.infoset_sequence[target] + action[acts] * to.infoset_stride[target]
        return sequence

    def carriers(self, merged: np.ndarray) -> np.ndarray:
        """Return the merged sequence with the same reach for every sequence.

        Args:
            merged: int (sequences,): sequence of a merged form for each sequence.  Sequences of
                omitted infosets, of one action, map to the empty sequence.

        Returns:
            int (sequences,): ``merged``, except that an omitted sequence has that of its parent.
        """
        carrier = merged.copy()
        empty = np.repeat(merged[self.player_sequences[:-1]], np.diff(self.player_buckets))
        omitted = np.flatnonzero(merged[self.bucket_sequence] == empty)
        buckets = self.buckets
        # Shallow buckets come first, so the carrier of a parent is final.
        for infosets, sequences, _, _ in (buckets[number] for number in omitted.tolist()):
            carrier[sequences] = carrier[self.infoset_parent[infosets]]
        return carrier

    @property
    def first_copies(self) -> np.ndarray:
        """int64 (sequences,): first copy of each sequence; the sequence itself if it has none."""
        first = np.arange(self.n_sequences)
        if self.copies is not None:
            first[self.copies.sequence] = self.copies.first
        return first

    def with_equal_copies(self, numbers: np.ndarray) -> np.ndarray:
        """Replace the numbers of copies by their mean.

        Args:
            numbers: float64 (sequences,).

        Returns:
            float64 (sequences,): ``numbers`` itself if they are equal for copies already.
        """
        if self.copies is None or np.array_equal(numbers[self.first_copies], numbers):
            return numbers
        sequence, first, share_of = self.copies[1:]
        equal = numbers.copy()
        total = np.bincount(first, weights=numbers[sequence], minlength=len(numbers))
        equal[sequence] = total[first] * share_of
        return equal

    @property
    def n_players(self) -> int:
        """Number of players."""
        return len(self.player_infosets) - 1

    def part(self, kind: type[Part]) -> Part | None:
        """Return the part of the payoff operator that has the given kind, or None."""
        return next((part for part in self.operator if isinstance(part, kind)), None)

    @property
    def bare(self) -> SequenceForm:
        """Form without payoffs.  Kernels that do not read payoffs are compiled once for it, and not
        again for each kind of payoff."""
        return self._replace(operator=())

    @property
    def n_infosets(self) -> int:
        """Number of infosets of all players."""
        return len(self.infoset_parent)

    @property
    def n_sequences(self) -> int:
        """Number of sequences of all players, the empty ones included."""
        return int(self.player_sequences[-1])


FREE = -1.0
"""Mark of an action that is not locked, in place of its probability."""


class LockedLanes(NamedTuple):
    """Locked lanes, bucket by bucket."""

    bucket: np.ndarray
    """int64 (buckets + 1,): bucket ``b`` has the locks ``[b]`` to ``[b + 1] - 1``."""
    lane: np.ndarray
    """int64 (locks,): lane of each lock, ascending within a bucket."""
    offset: np.ndarray
    """int64 (locks,): action ``a`` of a lock has the probability ``[offset + a]``."""
    probability: np.ndarray
    """float64: probabilities; :data:`FREE` if the action is not locked.  An infoset has either none
    or at least two free actions."""
    modelled: np.ndarray
    """int64 (1,): player of whom there is a model; -1 without a model."""
    least: np.ndarray
    """float (sequences,): probability that the modelled player's action has at least.  The free
    strategy gets the rest of the infoset.  Empty if there are no such probabilities."""
    share: np.ndarray
    """float (1,): factor of the other player's payoffs."""
    payoff: np.ndarray
    """float (sequences,): payoffs that are added to the other player's payoffs.  Empty if there are
    none, and the factor is 1."""


def bucket_layout(
    owner: np.ndarray, level: np.ndarray, actions: np.ndarray, lanes: np.ndarray, n_players: int
) -> dict[str, Any]:
    """Return the fields of a :class:`SequenceForm` without private hands, except ``infoset_parent``
    and ``operator``.

    Args:
        owner: int64 (buckets,): player of each bucket, ascending.
        level: int64 (buckets,): level of each bucket.
        actions: int64 (buckets,): actions of its infosets.
        lanes: int64 (buckets,): number of its infosets.
        n_players: Number of players.
    """
    players = np.arange(n_players + 1)
    buckets = np.searchsorted(owner, players)
    infosets, sequences = (np.append(0, np.cumsum(counts)) for counts in (lanes, lanes * actions))
    return {
        "player_infosets": infosets[buckets],
        "player_sequences": sequences[buckets] + players,
        "player_buckets": buckets,
        "bucket_level": level,
        "bucket_actions": actions,
        "bucket_lanes": lanes,
        "bucket_infoset": infosets[:-1],
        # The empty sequences of the players up to the owner come before.
        "bucket_sequence": sequences[:-1] + owner + 1,
        # Without private hands all lanes are of one hand.
        "bucket_stride": lanes,
        "bucket_mask": np.zeros_like(lanes),
        "hand_rank": np.array([[0, 1]]),
    }


def infoset_layout(
    owner: np.ndarray, level: np.ndarray, actions: np.ndarray, n_players: int
) -> tuple[np.ndarray, dict[str, Any]]:
    """Sort infosets by player, level and number of actions.

    Args:
        owner: int64 (infosets,): player of each infoset.
        level: int64 (infosets,): its level.
        actions: int64 (infosets,): its actions.
        n_players: Number of players.

    Returns:
        int64 (infosets,): the infosets in order; the fields of :func:`bucket_layout`.
    """
    key = np.stack([owner, level, actions])
    # A bucket is a set of infosets with equal keys; unique sorts buckets as lexsort sorts infosets.
    kinds, lanes = np.unique(key, axis=1, return_counts=True)
    owner, level, actions = np.ascontiguousarray(kinds)
    return np.lexsort(key[::-1]), bucket_layout(owner, level, actions, lanes, n_players)


def levels(first_child: np.ndarray, top: slice = slice(0, 1)) -> Iterator[slice]:
    """Yield the levels of a tree as ranges of nodes, from the top down.

    Nodes are in breadth-first order, so the children of a range of nodes are a range too.

    Args:
        first_child: int (nodes + 1,): first child of each node.
        top: The first range: the root, or consecutive nodes of one level.

    Yields:
        ``top``, then the range of its children, and so on; no range is empty.

    >>> [(level.start, level.stop) for level in levels(np.array([1, 3, 5, 5, 5, 5]))]
    [(0, 1), (1, 3), (3, 5)]
    """
    begin, end = top.start, top.stop
    while begin < end:
        yield slice(begin, end)
        begin, end = int(first_child[begin]), int(first_child[end])


def levels_below_root(first_child: np.ndarray) -> Iterator[slice]:
    """Yield the levels of a tree below the root."""
    return levels(first_child, slice(int(first_child[0]), int(first_child[1])))


def smallest_int(values: Sequence[int] | np.ndarray) -> np.ndarray:
    """Convert integers to the smallest signed dtype that holds them all."""
    array = np.asarray(values, dtype=np.int64)
    low, high = int(array.min(initial=0)), int(array.max(initial=0))
    for dtype in (np.int8, np.int16, np.int32):
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return array.astype(dtype)
    return array


def tree_links(children: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``parent`` and ``first_child`` of a :class:`HistoryTree`.

    Args:
        children: int64 (nodes,): number of children of each node, in breadth-first order.

    Returns:
        int64 (nodes,) and int64 (nodes + 1,).
    """
    nodes = len(children)
    first_child = np.empty(nodes + 1, dtype=np.int64)
    # The root is not a child, so the first child is node 1.
    first_child[0] = 1
    np.cumsum(children, out=first_child[1:])
    first_child[1:] += 1
    parent = np.empty(nodes, dtype=np.int64)
    parent[0] = NO_PARENT
    parent[1:] = np.repeat(np.arange(nodes), children)
    return parent, first_child


STORED_NAMES = {
    "hand_list": "walk",
    "parent_part": "above",
    "run_offset": "row_offset",
    "entry_runs": "row",
    "entry_distances": "beyond",
}
"""Names of arrays in files and digests, which are older than the names of the fields."""


def stored_name(name: str) -> str:
    """Return the name in files and digests of an array of :func:`named_arrays`."""
    before, slash, last = name.rpartition("/")
    return f"{before}{slash}{STORED_NAMES.get(last, last)}"


def named_arrays(view: Any, prefix: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Yield every array of a view by name; an array of a part of the payoff operator is named
    ``"kind/array"``."""
    for name, value in view._asdict().items():
        if name == "operator":
            for part in value:
                yield from named_arrays(part, f"{prefix}{part.kind}/")
        elif name == "copies":
            yield from () if value is None else named_arrays(value, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", value


def frozen_arrays(value: Any) -> Any:
    """Return a tuple of arrays and tuples with every array read-only and contiguous.

    Kernels take the arrays that they only read in this form.  Numba compiles a kernel once per
    type, and a writable array has another type than a read-only one.  Arrays that are not
    contiguous are copied.
    """
    return changed_arrays(value, lambda array: frozen_array(np.ascontiguousarray(array)))


def changed_arrays(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Apply a function to every array of a tuple of arrays and tuples; other values stay."""
    if isinstance(value, np.ndarray):
        return change(value)
    if not isinstance(value, tuple):
        return value
    changed = (changed_arrays(item, change) for item in value)
    return type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)


def frozen_array(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view
