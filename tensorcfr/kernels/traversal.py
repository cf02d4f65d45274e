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


@inlined
def node_arrays(tree: TraversalTree):  # type: ignore[no-untyped-def]
    """``node, hand_offset, utility, coefficient, matrix`` of a tree.

    Kernels take the arrays out of their records once, before their loops, and pass arrays to the
    functions below them: a record or a slice that is passed within a loop counts references,
    which costs more than the arithmetic at a node.
    """
    return tree.node, tree.hand_offset, tree.utility, tree.coefficient, tree.matrix


@inlined
def chance_arrays(tree: TraversalTree):  # type: ignore[no-untyped-def]
    """``joined, first_outcome, outcome, threshold, step, chance_table`` of a tree."""
    return (
        tree.joined,
        tree.first_outcome,
        tree.outcome,
        tree.threshold,
        tree.step,
        tree.chance_table,
    )


@inlined
def deal_arrays(tree: TraversalTree):  # type: ignore[no-untyped-def]
    """``deal, deal_threshold``, and uint64: the chance nodes of the deal, the hands of player 1."""
    return tree.deal, tree.deal_threshold, U(tree.dealt), U(tree.hands)


ITERATION, TURN, AT, DEPTH, NOTED, PAUSED, STOPS, HISTORIES, DECISIONS = range(9)
"""Numbers of :attr:`Frames.cursor`."""
FOR_HISTORY, FOR_LOG = 1, 2
"""What a traversal waits for."""
REACH, CLOCK, LED = range(3)
"""Numbers of :attr:`Frames.scalar`."""


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
    """float64 (3,): ``REACH``, the probability that the traversal carries along; ``CLOCK``, the sum
    of the averaging weights before the iteration; ``LED``, as in ``led``, where it waits."""
    place: np.ndarray
    """uint32 (frames, 5): numbers of each frame, as the scheme needs them."""
    first: np.ndarray
    """float64 (frames,): likewise."""
    second: np.ndarray
    """float64 (frames,): likewise."""
    q: np.ndarray
    """float64 (frames * most actions,): values of the actions of each frame."""
    reach: np.ndarray
    """float64 ((frames + 1) * players,): reaches of the players at each frame."""
    width: int
    """The most actions."""
    generator: np.ndarray
    """uint64 (4,): the generator before the iteration."""
    log: np.ndarray
    """float64: the blocks that the iteration came to, as they were: block, number of numbers, and
    the numbers with their header; empty if nothing is to be noted."""
    groups: int
    """Groups of numbers in a block, for ``log``."""

    # Where own actions are drawn.
    tried: np.ndarray | None = None
    """float64 (frames * most actions,): the probability with which each action of a frame is tried,
    0 if it is not."""
    led: np.ndarray | None = None
    """float64 (frames,): the probability with which the draws of own actions led to each frame."""


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
        place=np.empty((depth, 5), np.uint32),
        first=np.empty(depth),
        second=np.empty(depth),
        q=np.empty(depth * width),
        reach=np.ones((depth + 1) * n_players),
        width=width,
        generator=np.empty(4, np.uint64),
        log=np.empty(log),
        groups=groups,
        tried=np.empty(depth * width) if tries else None,
        led=np.empty(depth) if tries else None,
    )


@inlined
def frame_arrays(frames: Frames):  # type: ignore[no-untyped-def]
    """``place, first, second, q, reach`` of frames."""
    return frames.place, frames.first, frames.second, frames.q, frames.reach


@inlined
def try_arrays(frames: Frames):  # type: ignore[no-untyped-def]
    """``tried, led`` of frames."""
    return frames.tried, frames.led


@inlined
def resume_arrays(frames: Frames):  # type: ignore[no-untyped-def]
    """``cursor, scalar, generator, log`` of frames, and uint64: ``groups``."""
    return frames.cursor, frames.scalar, frames.generator, frames.log, U(frames.groups)


@inlined
def pause(
    cursor: np.ndarray,
    scalar: np.ndarray,
    missing: bool,
    turn: int,
    at: np.uint64,
    depth: np.uint64,
    reach: float,
    noted: int,
) -> None:
    """Note where a traversal waits.

    Args:
        cursor: As in :class:`Frames`, like the next one; modified in place.
        scalar: Likewise.
        missing: Whether it waits for a history, and not for a longer log.
        turn: Which of the players it is for.
        at: Its node.
        depth: The frames on its path.
        reach: The probability that it carries along.
        noted: Numbers in the log.
    """
    cursor[PAUSED] = FOR_HISTORY if missing else FOR_LOG
    cursor[TURN], cursor[NOTED] = turn, noted
    cursor[AT], cursor[DEPTH], scalar[REACH] = np.int64(at), np.int64(depth), reach


@inlined
def note(log: np.ndarray, at: int, table: np.ndarray, block: int, size: int) -> Any:
    """Note a block with its header as it is.

    Args:
        log: As in :class:`Frames`; modified in place.
        at: Where the log ends.
        table: The table.
        block: The block.
        size: Its numbers without the header.

    Returns:
        Where the log ends now; ``at`` if there is no room.
    """
    end = at + HEADER + HEADER + np.int64(size)
    if end > log.shape[0]:
        return at
    log[at] = block
    log[at + 1] = HEADER + np.int64(size)
    first = np.int64(block) - HEADER
    for k in range(end - at - HEADER):
        log[at + HEADER + k] = table[first + k]
    return end


class TraversalState(NamedTuple):
    """What a traversal keeps between iterations; modified in place."""

    table: np.ndarray
    """float64: the infosets' blocks, one after the other."""
    clock: np.ndarray
    """float64 (1,): the sum of the averaging weights so far."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""
