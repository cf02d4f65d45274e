"""Arrays that Monte Carlo traversals read and write.

A traversal visits histories one at a time.  For each infoset it reads and writes one *block* of
numbers, so that the numbers needed at a node are adjacent, mostly in one cache line.

The offset of a block in the table points to its regrets.  For ``n`` actions a block holds ``n``
regrets, ``n`` probabilities of the current strategy, and ``n`` numbers of the cumulative strategy.
Further groups of ``n`` numbers depend on the scheme: the instantaneous regrets of the current
traversal, or the baselines of each player.  If the table has headers, two numbers precede the
regrets: the last visit and the mark of a pending update (:data:`LAST_VISIT`, :data:`PENDING`).

A history whose children are not in the tree yet is a decision without children.  A traversal that
reaches one stores its position in :class:`Frames`, and returns.  It continues at the next call.  A
compiled game has no such histories.

There are three kinds of trees.  A history tree has every history of the game.  A public tree is
traversed with hands that are drawn first: a history is a pair of hands and a public node.  The
fields of :class:`TraversalTree` that belong to one kind only are None in the other.  A card tree
(:class:`CardTree`) is the betting of a card game, traversed with hands and a board that are drawn
first.  Kernels are compiled for each kind, without branches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._util.jit import inlined
from .local_rule import LocalRule
from .random import remember

U = np.uint64
ZERO, ONE = U(0), U(1)
CHANCE_NODE, TERMINAL_NODE = U(2**32 - 2), U(2**32 - 1)
"""``actor`` of a node where no player acts."""
NO_BLOCK = U(2**32 - 1)
"""``block`` of an infoset with a single action."""
LAST_VISIT, PENDING = U(2), U(1)
"""Distances from the header to the regrets of a block: the sum of the averaging weights at the last
visit, and the mark of a pending update."""
HEADER = 2
"""Length of the header of a block, if the table has headers."""


_NODE = [
    ("actor", np.uint32),  # a player, CHANCE_NODE or TERMINAL_NODE
    ("first_child", np.uint32),
    ("n_children", np.uint32),
    ("block", np.uint32),  # of the infoset, or NO_BLOCK; in public trees that of the first hand
    ("payoff", np.uint32),  # of a terminal: row of utility; in public trees, number of the payoff
]
HISTORY_NODE = np.dtype([*_NODE, ("chance", np.uint32)])
"""Dtype of a node of a history tree.  ``chance`` is the number of a chance node.  Fields that a
node does not have (such as the block of a terminal) are 0.  A record keeps all fields of a node in
one cache line."""
PUBLIC_NODE = np.dtype([*_NODE, ("bucket", np.uint32)])
"""Dtype of a node of a public tree.  ``bucket`` is the bucket of a decision node; at a chance node
it is the number of the chance node, from 0."""


class TraversalTree(NamedTuple):
    """A game as an array of nodes, for traversals.

    Infosets with a single action have no block, because there is nothing to learn.  In a history
    tree, chance nodes that follow each other directly (one card is dealt after the other) are one
    draw; all of them count as visited.
    """

    node: np.ndarray
    """:data:`HISTORY_NODE` or :data:`PUBLIC_NODE` (nodes,), in breadth-first order."""
    utility: np.ndarray
    """float64 (terminals, players): payoffs of each terminal; in public trees, float64 (matrices,
    players, hands of player 0 times hands of player 1)."""
    depth: int
    """Largest number of decisions and chance nodes on a path to a terminal."""
    width: int
    """Largest number of children of a decision node, or of outcomes of a draw."""
    blocks: int
    """Largest number of infosets with a block that one traversal visits."""
    entries: int
    """Largest number of nodes in the queue of a full traversal."""
    visits_once: bool
    """True if a traversal that samples chance visits every infoset at most once."""
    dealt: int
    """Number of chance nodes that deal the hands, in public trees; otherwise 0."""
    hands: int
    """Number of hands of player 1, in public trees; otherwise 0."""
    drawn: int
    """Length of :attr:`Frames.held`."""

    probability: np.ndarray
    """float64 (outcomes,): probability of each outcome; empty in public trees, where chance is
    always sampled."""

    # Trees of histories.
    joined: np.ndarray | None = None
    """uint32 (chance nodes,): number of chance nodes after this one that the same draw covers."""
    first_outcome: np.ndarray | None = None
    """uint32 (chance nodes + 1,): the outcomes of draw ``c`` are ``[c]`` to ``[c + 1] - 1``."""
    outcome: np.ndarray | None = None
    """uint32 (outcomes, 2): node that an outcome leads to, and node of the outcome's alias
    (Walker's method)."""
    threshold: np.ndarray | None = None
    """float64 (outcomes,): probability with which a draw of the outcome's column returns the
    outcome and not its alias."""

    # Public trees.
    deal: np.ndarray | None = None
    """uint32 (deals, 2): a deal, as (hand of player 0) * (hands of player 1) + (hand of player 1),
    and the deal's alias."""
    deal_threshold: np.ndarray | None = None
    """float64 (deals,): probability with which a draw of the deal's column returns the deal and not
    its alias."""
    hand_offset: np.ndarray | None = None
    """uint32 (buckets, most hands): distance from the block of the first possible hand to the block
    of each hand."""
    step: np.ndarray | None = None
    """int32 (nodes,): row of ``chance_table`` for the chance outcome that leads to the node; empty
    without chance nodes."""
    chance_table: np.ndarray | None = None
    """float64 (tables, hands of player 0 times hands of player 1): probability of the outcome for
    each deal."""
    coefficient: np.ndarray | None = None
    """float64 (payoffs,): factor of the matrix."""
    matrix: np.ndarray | None = None
    """uint32 (payoffs,): index of the matrix in ``utility``."""


CARD_NODE = np.dtype([*_NODE, ("round", np.uint32)])
"""Dtype of a node of the betting of a card game.  ``block`` of a decision is the first of its
entries in :attr:`CardTree.first_block`, or ``NO_BLOCK``; ``payoff`` of a terminal is its row of
:attr:`CardTree.amount`; ``round`` is the number of deals before the node."""


class CardTree(NamedTuple):
    """Betting of a card game, for traversals that draw the hands and the board first.

    The drawn hands and board determine the infoset of every node of the betting.  A draw is stored
    in :attr:`Frames.held`: the players' hands; then for each round the solved board, the players'
    classes of hands on it, and the order of the hands if there is a showdown.

    Hands and board are drawn independently, and again if two of them have a common card.  So each
    deal has a probability proportional to the product of its weights.
    """

    node: np.ndarray
    """:data:`CARD_NODE` (nodes,), in breadth-first order."""
    amount: np.ndarray
    """float64 (terminals, orders, players): payoffs for each combination of the orders of the hands
    in all rankings."""
    depth: int
    """Largest number of decisions and deals on a path to a terminal."""
    width: int
    """Largest number of actions."""
    blocks: int
    """Number of decisions with a block."""
    entries: int
    """Number of nodes."""
    visits_once: bool
    """True: a traversal visits every decision, and so every infoset, at most once."""
    dealt: int
    """Number of chance nodes that deal the hands."""
    drawn: int
    """Length of :attr:`Frames.held`."""
    probability: np.ndarray
    """float64 (0,), because chance is always sampled."""

    group: np.ndarray
    """uint32 (players + 2,): the hands of player ``i`` are the outcomes ``[i]`` to ``[i + 1] - 1``;
    the boards of the last round are the last outcomes."""
    outcome: np.ndarray
    """uint32 (outcomes, 2): each outcome, and its alias (Walker's method)."""
    threshold: np.ndarray
    """float64 (outcomes,): probability with which a draw of the outcome's column returns the
    outcome and not its alias."""
    cards: np.ndarray
    """uint64 (outcomes, words): cards of each outcome, one bit per card."""

    first_board: np.ndarray
    """uint32 (rounds,): first row of ``board`` of each round; round 0 is before all deals."""
    board: np.ndarray
    """uint32 (boards, 5): the board before the last deal; the solved board, and the permutation
    that maps to it; the kind of its classes of hands; its row of ``rank``."""
    image: np.ndarray
    """uint32 (permutations, players, most hands): image of each hand under each permutation."""
    lane: np.ndarray
    """uint32 (kinds, players, most hands): class of each hand."""
    rank: np.ndarray
    """uint32 (boards with a showdown, rankings, players, most hands): rank of each hand's
    strength."""
    order: np.ndarray
    """uint32 (codes,): index in ``amount`` of the orders with a code.  Its digits are the codes of
    the rankings; see :func:`tensorcfr.model.card_structure.code_of`."""

    first_block: np.ndarray
    """uint32 (decisions * solved boards of their round,): block of the first class of hands."""
    header: int
    """Length of the header of a block."""
    groups: int
    """Groups of numbers in a block."""

    drawn_deals: np.ndarray | None = None
    """uint64 (deals, drawn): deals that were drawn before, one for each traversal; None to draw
    deals during traversals."""
    next_deal: np.ndarray | None = None
    """int64 (1,): deal of the next traversal; modified in place."""


NO_RANK = U(2**32 - 1)
"""Row of :attr:`CardTree.rank` of a board without a showdown."""

ITERATION, TURN, AT, DEPTH, NOTED, PAUSED, STOPS, HISTORIES, DECISIONS = range(9)
"""Indices in :attr:`Frames.cursor`."""
FOR_HISTORY, FOR_LOG = 1, 2
"""Reasons why a traversal waits: for a new history, or for a longer log."""
OWN, CLOCK, LED = range(3)
"""Indices in :attr:`Frames.scalar`."""
FRAME = np.dtype(
    [
        ("led", np.float64),  # probability with which the player's own draws lead here
        ("own", np.float64),  # own reach of the player who is updated
        ("value", np.float64),  # of the actions tried so far
        ("drawn", np.float64),  # probability with which the action was drawn
        ("actor", np.uint32),
        ("block", np.uint32),
        ("n_children", np.uint32),
        ("first_child", np.uint32),
        ("action", np.uint32),  # the one that the path takes
        ("unused", np.uint32),
    ]
)
"""Dtype of a decision on the path of a traversal; a scheme uses the fields that it needs."""


class Frames(NamedTuple):
    """Path of a traversal, and the data that undo its iteration; modified in place."""

    cursor: np.ndarray
    """int64 (9,): position in the schedule; all are 0 for a new schedule.

    * ``ITERATION``: rows of the schedule that are done.
    * ``PAUSED``: ``FOR_HISTORY`` or ``FOR_LOG`` if the traversal waits for a new history or a
      longer log.  Then ``TURN`` is the index of its player, ``AT`` its node, and ``DEPTH`` the
      frames on its path.
    * ``STOPS``: 1 if no further iteration may begin.
    * ``NOTED``: numbers in ``log``.
    * ``HISTORIES`` and ``DECISIONS``: numbers visited before the iteration."""
    scalar: np.ndarray
    """float64 (3,): ``OWN`` and ``LED``, as in a frame, where the traversal waits; ``CLOCK``, the
    sum of the averaging weights before the iteration."""
    path: np.ndarray
    """:data:`FRAME` (frames,): decisions on the current path, from the root down."""
    q: np.ndarray
    """float64 (frames * most actions,): values of the actions of each frame."""
    reach: np.ndarray
    """float64 ((frames + 1) * players,): reach of each player at each frame."""
    width: int
    """Largest number of actions."""
    held: np.ndarray
    """uint64 (drawn,): each player's hand, in public trees; for card trees also the board, see
    :class:`CardTree`."""
    n_players: int
    """Number of players."""
    generator: np.ndarray
    """uint64 (4,): state of the generator before the iteration."""
    log: np.ndarray
    """float64: blocks that the iteration visited, before their change: block, length, and the
    numbers with their header; empty if no log is needed."""
    groups: int
    """Number of groups of numbers in a block, for ``log``."""

    tried: np.ndarray
    """float64 (frames * most actions,): probability with which each action of a frame is tried, 0
    if it is not; empty if all own actions are tried."""


def new_frames(
    depth: int,
    width: int,
    n_players: int,
    *,
    drawn: int = 0,
    log: int = 0,
    groups: int = 0,
    tries: bool = False,
) -> Frames:
    """Allocate frames for a traversal that begins.

    Args:
        depth: Largest number of decisions and chance nodes on a path to a terminal.
        width: Largest number of children of a decision node.
        n_players: Number of players.
        drawn: Length of :attr:`Frames.held`.
        log: Capacity of the log, in numbers.
        groups: Number of groups of numbers in a block.
        tries: Whether the traversal draws the own actions that it tries.
    """
    return Frames(
        cursor=np.zeros(9, np.int64),
        scalar=np.zeros(3),
        path=np.empty(depth, FRAME),
        q=np.empty(depth * width),
        reach=np.ones((depth + 1) * n_players),
        width=width,
        held=np.zeros(drawn, np.uint64),
        n_players=n_players,
        generator=np.empty(4, np.uint64),
        log=np.empty(log),
        groups=groups,
        tried=np.empty(depth * width * tries),
    )


class TraversalState(NamedTuple):
    """Solver state of a sampling algorithm between iterations; modified in place."""

    table: np.ndarray
    """float64: blocks of the infosets, one after the other."""
    clock: np.ndarray
    """float64 (1,): sum of the averaging weights so far."""
    touched: np.ndarray
    """int64 (2,): number of histories visited, and of decision nodes among them."""


class Orders(NamedTuple):
    """Iterations that a kernel runs."""

    schedule: np.ndarray
    """float64 (iterations, 1 + parameters): averaging weight, then the parameters of the rule."""
    players: np.ndarray
    """uint64 (traversals per iteration,): players for whom an iteration traverses, in order."""
    averaging: int
    """Averaging scheme: ``SIMPLE``, ``STOCHASTIC`` or ``OPTIMISTIC``; see
    :mod:`tensorcfr.kernels.sampling_steps`."""
    alternating: bool
    """True if a traversal uses the strategies that earlier traversals of the same iteration
    computed, and draws its own chance outcomes.  Otherwise all traversals of an iteration use the
    same strategies and, where all actions are tried, the same chance outcomes."""


class Traversal(NamedTuple):
    """Traversal for one player in one iteration."""

    tree: Any
    """Game: a :class:`TraversalTree`, a :class:`CardTree`, or an
    :class:`~tensorcfr.kernels.sampling_public.AllHandsTree`."""
    table: np.ndarray
    """Table of the infosets, :attr:`TraversalState.table`; modified in place."""
    generator: np.ndarray
    """uint64 (4,), a script or streams; modified in place."""
    rule: LocalRule
    """Local rule, to which kernels are specialised."""
    parameters: tuple[float, ...]
    """Parameters of the rule at this iteration."""
    player: np.uint64
    """Player for whom the traversal updates infosets."""
    deal: np.uint64
    """Deal drawn by :func:`tensorcfr.kernels.tree_access.deal_hands`."""
    averaging: int
    """Averaging scheme; see :class:`Orders`."""
    weight: float
    """Averaging weight of the iteration."""
    clock: float
    """Sum of the averaging weights, including this iteration."""


class TraversalPosition(NamedTuple):
    """Position of a traversal."""

    node: np.uint64
    """Current node."""
    depth: np.uint64
    """Number of frames on the path to it."""
    own_reach: float
    """Own reach of the updating player, as in :data:`FRAME`."""
    led: float
    """Probability of the player's own draws, as in :data:`FRAME`."""
    histories: np.uint64
    """Number of histories visited so far."""
    decisions: np.uint64
    """Number of decision nodes among them."""


@inlined
def begin_iteration(
    frames: Frames, clock: float, position: TraversalPosition, generator: np.ndarray
) -> None:
    """Store the data that undo the iteration about to begin, if there is a log."""
    if frames.log.shape[0] > 0:
        cursor = frames.cursor
        cursor[NOTED], frames.scalar[CLOCK] = 0, clock
        cursor[HISTORIES], cursor[DECISIONS] = (
            np.int64(position.histories),
            np.int64(position.decisions),
        )
        remember(generator, frames.generator)


@inlined
def waits(frames: Frames, table: np.ndarray, block: np.uint64, count: np.uint64) -> bool:
    """Log a block before its change, if there is a log; return whether the traversal must wait.

    It waits for new children of a history that has none, or for a longer log.
    """
    if count == ZERO:
        return True
    log, cursor = frames.log, frames.cursor
    if log.shape[0] == 0:
        return False
    begin, size = cursor[NOTED], HEADER + np.int64(U(frames.groups) * count)
    if begin + HEADER + size > log.shape[0]:
        return True
    # An entry of the log: block, length, then the block's numbers with their header.
    log[begin] = block
    log[begin + 1] = size
    first = np.int64(block) - HEADER
    for k in range(size):
        log[begin + HEADER + k] = table[first + k]
    cursor[NOTED] = begin + HEADER + size
    return False


@inlined
def pause(
    frames: Frames,
    state: TraversalState,
    position: TraversalPosition,
    traversal: int,
    clock: float,
    count: np.uint64,
) -> None:
    """Store the position of a traversal that waits.

    Args:
        frames: Modified in place.
        state: Modified in place.
        position: Position of the traversal.
        traversal: Index of its player in the schedule.
        clock: Sum of the averaging weights.
        count: Number of children of the node: 0 to wait for the history, otherwise for a longer
            log.
    """
    cursor, missing = frames.cursor, count == ZERO
    cursor[PAUSED] = FOR_HISTORY if missing else FOR_LOG
    cursor[TURN], cursor[AT], cursor[DEPTH] = (
        traversal,
        np.int64(position.node),
        np.int64(position.depth),
    )
    frames.scalar[OWN], frames.scalar[LED] = position.own_reach, position.led
    finish(state, clock, position)
    if not missing:  # It was counted, and will be again.
        state.touched[0] -= 1
        state.touched[1] -= 1


@inlined
def resumed(frames: Frames, position: TraversalPosition) -> TraversalPosition:
    """Return the position at which a waiting traversal continues."""
    cursor, scalar = frames.cursor, frames.scalar
    cursor[PAUSED] = 0
    return TraversalPosition(
        U(cursor[AT]),
        U(cursor[DEPTH]),
        scalar[OWN],
        scalar[LED],
        position.histories,
        position.decisions,
    )


@inlined
def finish(state: TraversalState, clock: float, position: TraversalPosition) -> None:
    """Store clock and counts in the state, which is modified in place."""
    state.clock[0] = clock
    state.touched[0] = np.int64(position.histories)
    state.touched[1] = np.int64(position.decisions)
