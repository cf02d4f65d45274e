"""The arrays that Monte Carlo traversals read and write.

A traversal visits histories, one at a time, and reads and writes one *block* of numbers per
infoset, so that the numbers it needs at a node are adjacent, mostly in one cache line.

A block begins with the regrets; its offset in the table points there.  For ``n`` actions it holds
``n`` regrets, ``n`` probabilities of the current strategy, ``n`` numbers of the cumulative
strategy, and then further groups of ``n`` numbers that depend on the scheme: the instantaneous
regrets of the traversal under way, or the baselines of each player.  If the table has headers, two
numbers precede the regrets: the last visit and the mark of a pending update (:data:`LAST_VISIT`,
:data:`PENDING`).

A history whose children are not in the tree yet is a decision without children.  A traversal that
comes to one notes in its :class:`Frames` where it is, and returns.  It goes on when it is called
again.  A compiled game has no such histories.

There are two kinds of trees.  A tree of histories has every history of the game.  A public tree is
traversed with hands that are drawn first: a history is a pair of hands and a public node.  The
fields of :class:`TraversalTree` that only one kind has are None in the other.  None has a type of
its own, so numba compiles each kernel for each kind, without branches.
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
"""``block`` of an infoset with one action."""
LAST_VISIT, PENDING = U(2), U(1)
"""How far before its regrets a block has the sum of the averaging weights at the last visit, and
the mark of a pending update."""
HEADER = 2
"""Numbers in the header of a block, if the table has headers."""


_NODE = [
    ("actor", np.uint32),  # a player, CHANCE_NODE or TERMINAL_NODE
    ("first_child", np.uint32),
    ("n_children", np.uint32),
    ("block", np.uint32),  # of the infoset, or NO_BLOCK; in public trees that of the first hand
    ("payoff", np.uint32),  # of a terminal: row of utility; in public trees, number of the payoff
]
HISTORY_NODE = np.dtype([*_NODE, ("chance", np.uint32)])
"""A node of a tree of histories.  ``chance`` is the number of a chance node.  Fields that a node
does not have (the block of a terminal, say) are 0.  A record keeps what a traversal needs at a
node in one cache line."""
PUBLIC_NODE = np.dtype([*_NODE, ("bucket", np.uint32)])
"""A node of a public tree.  ``bucket`` is that of a decision node; chance nodes are numbered there,
from 0."""


class TraversalTree(NamedTuple):
    """A game as a traversal sees it.

    Infosets with a single action have no block, because there is nothing to learn.  In a tree of
    histories, chance nodes that follow each other directly (one card is dealt after the other)
    are one draw; all of them count as visited.
    """

    node: np.ndarray
    """:data:`HISTORY_NODE` or :data:`PUBLIC_NODE` (nodes,), in breadth-first order."""
    utility: np.ndarray
    """float64 (terminals, players): what each terminal pays; in public trees, float64 (matrices,
    players, hands of player 0 times hands of player 1)."""
    depth: int
    """The most decisions and chance nodes on the way to a terminal."""
    width: int
    """The most children of a decision node, or outcomes of a draw."""
    blocks: int
    """Infosets with a block that one traversal can visit."""
    entries: int
    """The most nodes that a traversal of the whole tree has in its queue."""
    visits_once: bool
    """Whether a traversal that samples chance visits every infoset at most once."""
    dealt: int
    """Public trees: the chance nodes by which the hands are dealt.  0 otherwise."""
    hands: int
    """Public trees: hands of player 1.  0 otherwise."""

    probability: np.ndarray
    """float64 (outcomes,): probability of each outcome; empty in public trees, where chance is
    always sampled."""

    # Trees of histories.
    joined: np.ndarray | None = None
    """uint32 (chance nodes,): chance nodes after this one that the same draw passes."""
    first_outcome: np.ndarray | None = None
    """uint32 (chance nodes + 1,): the outcomes of draw ``c`` are ``[c]`` to ``[c + 1] - 1``."""
    outcome: np.ndarray | None = None
    """uint32 (outcomes, 2): the node to which an outcome leads; and the node of the outcome's alias
    (Walker's method)."""
    threshold: np.ndarray | None = None
    """float64 (outcomes,): probability with which a draw of an outcome's column stays with it and
    does not go to its alias."""

    # Public trees.
    deal: np.ndarray | None = None
    """uint32 (deals, 2): a deal, as the hand of player 0 times the hands of player 1 plus the hand
    of player 1; and the deal's alias."""
    deal_threshold: np.ndarray | None = None
    """float64 (deals,): as ``threshold``."""
    hand_offset: np.ndarray | None = None
    """uint32 (buckets, most hands): distance from the block of the first possible hand to the block
    of each hand."""
    step: np.ndarray | None = None
    """int32 (nodes,): row of ``chance_table`` for the step into the node; empty without chance
    nodes."""
    chance_table: np.ndarray | None = None
    """float64 (tables, hands of player 0 times hands of player 1): probability of the step."""
    coefficient: np.ndarray | None = None
    """float64 (payoffs,): multiple of the matrix."""
    matrix: np.ndarray | None = None
    """uint32 (payoffs,): row of ``utility``."""


ITERATION, TURN, AT, DEPTH, NOTED, PAUSED, STOPS, HISTORIES, DECISIONS = range(9)
"""Numbers of :attr:`Frames.cursor`."""
FOR_HISTORY, FOR_LOG = 1, 2
"""What a traversal waits for."""
OWN, CLOCK, LED = range(3)
"""Numbers of :attr:`Frames.scalar`."""
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
"""A decision on the path of a traversal; a scheme uses the fields that it needs."""


class Frames(NamedTuple):
    """The path that a traversal is on, and what undoes its iteration; modified in place."""

    cursor: np.ndarray
    """int64 (9,): ``ITERATION``, the rows of the schedule that are done; ``PAUSED``,
    ``FOR_HISTORY`` or ``FOR_LOG`` if the traversal waits for a history to be entered, or for a
    longer log, and then ``TURN``, which of the players it is for, ``AT``, its node, and ``DEPTH``,
    the frames on its path; ``STOPS``, 1 if no further iteration is to begin;
    ``NOTED``, numbers in ``log``; ``HISTORIES`` and ``DECISIONS`` visited before the iteration.
    All are 0 for a new schedule."""
    scalar: np.ndarray
    """float64 (3,): ``OWN`` and ``LED``, as in a frame, where the traversal waits; ``CLOCK``, the
    sum of the averaging weights before the iteration."""
    path: np.ndarray
    """:data:`FRAME` (frames,): the decisions on the current path, the first one first."""
    q: np.ndarray
    """float64 (frames * most actions,): values of the actions of each frame."""
    reach: np.ndarray
    """float64 ((frames + 1) * players,): reaches of the players at each frame."""
    width: int
    """The most actions."""
    held: np.ndarray
    """uint64 (players,): each player's hand, in public trees."""
    n_players: int
    """Number of players."""
    generator: np.ndarray
    """uint64 (4,): the generator before the iteration."""
    log: np.ndarray
    """float64: the blocks that the iteration came to, as they were: block, number of numbers, and
    the numbers with their header; empty if nothing is to be noted."""
    groups: int
    """Groups of numbers in a block, for ``log``."""

    tried: np.ndarray
    """float64 (frames * most actions,): the probability with which each action of a frame is tried,
    0 if it is not; empty if no own actions are drawn."""


def new_frames(
    depth: int,
    width: int,
    n_players: int,
    *,
    log: int = 0,
    groups: int = 0,
    tries: bool = False,
) -> Frames:
    """Frames for a traversal that begins.

    Args:
        depth: The most decisions and chance nodes on the way to a terminal.
        width: The most children of a decision node.
        n_players: Number of players.
        log: Numbers that can be noted.
        groups: Groups of numbers in a block.
        tries: Whether the traversal draws which own actions it tries.
    """
    return Frames(
        cursor=np.zeros(9, np.int64),
        scalar=np.zeros(3),
        path=np.empty(depth, FRAME),
        q=np.empty(depth * width),
        reach=np.ones((depth + 1) * n_players),
        width=width,
        held=np.zeros(n_players, np.uint64),
        n_players=n_players,
        generator=np.empty(4, np.uint64),
        log=np.empty(log),
        groups=groups,
        tried=np.empty(depth * width * tries),
    )


class TraversalState(NamedTuple):
    """What a traversal keeps between iterations; modified in place."""

    table: np.ndarray
    """float64: the infosets' blocks, one after the other."""
    clock: np.ndarray
    """float64 (1,): the sum of the averaging weights so far."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""


class Orders(NamedTuple):
    """The iterations that a kernel runs."""

    schedule: np.ndarray
    """float64 (iterations, 1 + parameters): averaging weight, then the parameters of the rule,
    iteration by iteration."""
    players: np.ndarray
    """uint64: the players for whom an iteration traverses, in order."""
    averaging: int
    """``SIMPLE``, ``STOCHASTIC`` or ``OPTIMISTIC``; see :mod:`tensorcfr.kernels.sampling`."""
    alternating: bool
    """Whether a traversal uses the strategies that earlier traversals of the same iteration
    computed, and draws its own chance outcomes.  Otherwise all traversals of an iteration have the
    same strategies and the same chance outcomes, where all actions are tried."""


class Turn(NamedTuple):
    """A traversal."""

    tree: Any
    """The game: a :class:`TraversalTree`, or an
    :class:`~tensorcfr.kernels.sampling_public.AllHandsTree`."""
    table: np.ndarray
    """:attr:`TraversalState.table`: modified in place."""
    generator: np.ndarray
    """uint64 (4,), a script or streams; modified in place."""
    rule: LocalRule
    """The local rule, to which kernels are specialised."""
    parameters: tuple[float, ...]
    """Its parameters at this iteration."""
    player: np.uint64
    """For whom it is."""
    deal: np.uint64
    """The hands, as :func:`tensorcfr.kernels.tree_access.deal_hands` drew them."""
    averaging: int
    """As in :class:`Orders`."""
    weight: float
    """Averaging weight of the iteration."""
    clock: float
    """Sum of the weights, this iteration's included."""


class Walk(NamedTuple):
    """Where a traversal is."""

    at: np.uint64
    """The node."""
    depth: np.uint64
    """Frames on the path to it."""
    own: float
    """As in :data:`FRAME`, like the next one."""
    led: float
    """Likewise."""
    histories: np.uint64
    """Histories visited."""
    decisions: np.uint64
    """Decision nodes among them."""


@inlined
def begin_iteration(frames: Frames, clock: float, walk: Walk, generator: np.ndarray) -> None:
    """Note what undoes the iteration that begins, where anything is to be noted."""
    if frames.log.shape[0] > 0:
        cursor = frames.cursor
        cursor[NOTED], frames.scalar[CLOCK] = 0, clock
        cursor[HISTORIES], cursor[DECISIONS] = np.int64(walk.histories), np.int64(walk.decisions)
        remember(generator, frames.generator)


@inlined
def waits(frames: Frames, table: np.ndarray, block: np.uint64, count: np.uint64) -> bool:
    """Note a block with its header as it is, where anything is to be noted, before a traversal goes
    on at a decision.

    Returns:
        Whether the traversal must wait: for the history, which has no children, or for a longer
        log.
    """
    if count == ZERO:
        return True
    log, cursor = frames.log, frames.cursor
    if log.shape[0] == 0:
        return False
    begin, size = cursor[NOTED], HEADER + np.int64(U(frames.groups) * count)
    if begin + HEADER + size > log.shape[0]:
        return True
    log[begin] = block
    log[begin + 1] = size
    first = np.int64(block) - HEADER
    for k in range(size):
        log[begin + HEADER + k] = table[first + k]
    cursor[NOTED] = begin + HEADER + size
    return False


@inlined
def pause(
    frames: Frames, state: TraversalState, walk: Walk, turn: int, clock: float, count: np.uint64
) -> None:
    """Note where a traversal waits.

    Args:
        frames: Modified in place, like the next one.
        state: The state.
        walk: Where the traversal is.
        turn: Which of the players it is for.
        clock: The sum of the averaging weights.
        count: Children of the node: without any it waits for the history, else for a longer log.
    """
    cursor, missing = frames.cursor, count == ZERO
    cursor[PAUSED] = FOR_HISTORY if missing else FOR_LOG
    cursor[TURN], cursor[AT], cursor[DEPTH] = turn, np.int64(walk.at), np.int64(walk.depth)
    frames.scalar[OWN], frames.scalar[LED] = walk.own, walk.led
    finish(state, clock, walk)
    if not missing:  # It was counted, and will be again.
        state.touched[0] -= 1
        state.touched[1] -= 1


@inlined
def resumed(frames: Frames, walk: Walk) -> Walk:
    """Where a traversal goes on that has waited."""
    cursor, scalar = frames.cursor, frames.scalar
    cursor[PAUSED] = 0
    return Walk(
        U(cursor[AT]),
        U(cursor[DEPTH]),
        scalar[OWN],
        scalar[LED],
        walk.histories,
        walk.decisions,
    )


@inlined
def finish(state: TraversalState, clock: float, walk: Walk) -> None:
    """Keep clock and counts in the state, which is modified in place."""
    state.clock[0] = clock
    state.touched[0] = np.int64(walk.histories)
    state.touched[1] = np.int64(walk.decisions)
