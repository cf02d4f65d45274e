"""The decisions of a team that agrees on plans before the play: its belief DAG.

A *belief* is the members' joint knowledge, their own choices included: the set of histories that
are still possible.  At a belief the team chooses a *prescription*, an action for every infoset of a
member who acts now.  After it, histories that no later infoset connects form separate beliefs.
Like the children of a chance node, all of these beliefs follow the prescription.  A belief is the
same for every path to it, so beliefs form a directed acyclic graph rather than a tree.

Histories that the members' sequences and infosets do not tell apart are one here.  A *leaf* ends a
play; only the last sequence of every member matters there.

Source: B. H. Zhang, G. Farina, T. Sandholm, "Team belief DAG: generalizing the sequence form to
team games for fast computation of correlated team max-min equilibria via regret minimization", ICML
2023.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from math import prod
from operator import or_
from typing import NamedTuple

import numpy as np

from .._util.memory_budget import free_memory, require
from .arrays import levels_below_root
from .flat_game import FlatGame

BYTES_PER_PRESCRIPTION = 650
"""Bytes per prescription, links included, until it is in the arrays of a game.  620 were measured
on kuhn(players=3, cards=6) and leduc(players=3, ranks=5, suits=1, raise_cap=1)."""
BYTES_PER_HISTORY = 500
"""Bytes per history at which a member acts, while the public states are computed.  A bit for every
infoset of the team is added."""


class BeliefDag(NamedTuple):
    """Belief DAG of a team: beliefs, their prescriptions, and the links to later beliefs and
    leaves.

    *Prescriptions* are numbered over all beliefs.  The number -1 is the start, before the first
    beliefs.
    """

    members: tuple[int, ...]
    """Players of the team."""
    depth: np.ndarray
    """int64 (beliefs,): largest number of beliefs before each belief."""
    prescriptions: np.ndarray
    """int64 (beliefs + 1,): belief ``b`` has the prescriptions ``[b]`` to ``[b + 1] - 1``: all
    combinations of actions, in lexicographic order (the action of its last infoset changes
    first)."""
    infosets: np.ndarray
    """int64: infosets of the game at which members act, belief by belief."""
    infosets_end: np.ndarray
    """int64 (beliefs,): end of each belief's infosets in ``infosets``."""
    belief_links: np.ndarray
    """int64 (2, links): a prescription, and a belief that follows it."""
    leaf_links: np.ndarray
    """int64 (2, links): a prescription, and a leaf that follows it."""
    leaves: np.ndarray
    """int64 (members, leaves): last sequence of each member."""
    terminal_leaf: np.ndarray
    """int64 (terminals,): leaf of each terminal of the game."""

    @property
    def n_beliefs(self) -> int:
        """Number of beliefs."""
        return len(self.depth)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaves.shape[1])

    def infosets_of(self, belief: int) -> np.ndarray:
        """Return the infosets at which members act at a belief, int64 (infosets,)."""
        begin = int(self.infosets_end[belief - 1]) if belief else 0
        return self.infosets[begin : int(self.infosets_end[belief])]


def belief_dag(
    game: FlatGame, members: Sequence[int], *, memory_limit: int | None = None
) -> BeliefDag:
    """Build the belief DAG of a team.

    Args:
        game: The game.
        members: The players of the team.
        memory_limit: Bytes that it may take; by default the machine's free memory.

    Raises:
        ValueError: The members' infosets have no order.  Of two infosets, each is before the other
            in some play, so that the next decision is undefined; names them.
        MemoryLimitError: It may not fit; raised before it is built.
    """
    limit = free_memory() if memory_limit is None else memory_limit
    views = _Views(game, tuple(members), limit)
    top = [_PublicState(views, 0, classes) for classes in _split(views, views.first)]
    states = list(_in_order(top))
    most = sum(state.most_prescriptions for state in states)
    views.check_memory(f"up to {most:,} prescriptions", most * BYTES_PER_PRESCRIPTION)
    return _build(views, top, states)


@dataclass
class _Class:
    """Histories at one infoset of a member that the team does not tell apart."""

    infoset: int
    reach: int
    """Bit set of the members' infosets here and below."""
    last: tuple[int, ...]
    """Last sequence of each member."""
    children: list[set[int]]
    """Classes that follow each action."""
    leaves: list[set[int]]
    """Leaves that follow each action."""


class _Views:
    """Game as a team sees it: the classes of its histories, and the order of its infosets."""

    def __init__(self, game: FlatGame, members: tuple[int, ...], limit: int) -> None:
        self.game, self.members, self.limit = game, members, limit
        tree = game.tree
        acts = np.isin(tree.player, members)
        histories, infosets = int(acts.sum()), len(np.unique(tree.infoset[acts]))
        bytes_per_history = BYTES_PER_HISTORY + infosets // 8
        self.check_memory(f"{histories:,} histories", histories * bytes_per_history)
        last, above, action = self._trace()
        self.n_actions = game.form.infoset_actions
        reach = self._reaches(np.flatnonzero(acts), above)
        self.leaves, leaf = np.unique(last[:, tree.terminal], axis=1, return_inverse=True)
        self.classes: list[_Class] = []
        known: dict[tuple[int, int, tuple[int, ...]], int] = {}
        class_of: dict[int, int] = {}
        self.first: set[int] = set()
        self.first_leaves: set[int] = set()
        # Nodes are in breadth-first order, so the class of ``above[node]`` is known already.
        for node in np.flatnonzero(acts).tolist():
            key = int(tree.infoset[node]), reach[node], tuple(last[:, node].tolist())
            if key not in known:
                known[key] = len(self.classes)
                actions = range(int(self.n_actions[key[0]]))
                after: list[set[int]] = [set() for _ in actions]
                self.classes.append(_Class(*key, after, [set() for _ in actions]))
            class_of[node] = known[key]
            if above[node] < 0:
                self.first.add(class_of[node])
            else:
                self.classes[class_of[int(above[node])]].children[action[node]].add(class_of[node])
        self.terminal_leaf = leaf.ravel().astype(np.int64)
        for node, leaf_number in zip(
            tree.terminal.tolist(), self.terminal_leaf.tolist(), strict=True
        ):
            if above[node] < 0:
                self.first_leaves.add(leaf_number)
            else:
                self.classes[class_of[int(above[node])]].leaves[action[node]].add(leaf_number)
        self.time = self._times()

    def check_memory(self, what: str, needed: int) -> None:
        """Check that a table of the team's beliefs fits.

        Raises:
            MemoryLimitError: It does not fit.
        """
        team = "+".join(map(str, self.members))
        require(
            needed, f"the belief DAG of the team {team} in {self.game.name}, {what},", self.limit
        )

    def _trace(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Trace the members' decisions to every history.

        Returns:
            int64 (members, nodes): last sequence of each member; int64 (nodes,): last history above
            at which a member acted, or -1; int64 (nodes,): the action there, or -1.
        """
        form, tree = self.game.form, self.game.tree
        last, _ = tree.traced(
            form.player_sequences[:-1], form.infoset_sequence, form.infoset_stride
        )
        above, action = np.full((2, tree.n_nodes), -1, dtype=np.int64)
        for level in levels_below_root(tree.first_child):
            node, parent = np.arange(level.start, level.stop), tree.parent[level]
            moved = np.isin(tree.player[parent], self.members)
            above[level] = np.where(moved, parent, above[parent])
            action[level] = np.where(moved, node - tree.first_child[parent], action[parent])
        return last[list(self.members)], above, action

    def _reaches(self, acts: np.ndarray, above: np.ndarray) -> dict[int, int]:
        """Return the bit set of the members' infosets at and below each history where a member
        acts."""
        infoset = self.game.tree.infoset
        bit = {number: 1 << k for k, number in enumerate(np.unique(infoset[acts]).tolist())}
        reach = {node: bit[int(infoset[node])] for node in acts.tolist()}
        # Children come after their parents, so the reverse order has all of a history's bits.
        for node in reversed(acts.tolist()):
            if (ancestor := int(above[node])) >= 0:
                reach[ancestor] |= reach[node]
        return reach

    def _times(self) -> dict[int, int]:
        """Return the largest number of the team's infosets before each infoset.

        Raises:
            ValueError: The infosets have no order.
        """
        after: dict[int, set[int]] = {class_.infoset: set() for class_ in self.classes}
        for class_ in self.classes:
            after[class_.infoset].update(self.classes[c].infoset for c in chain(*class_.children))
        n_before = dict.fromkeys(after, 0)
        for infoset in chain(*after.values()):
            n_before[infoset] += 1
        time = {infoset: 0 for infoset, count in n_before.items() if not count}
        ready = list(time)
        # Topological sort: an infoset is ready when all infosets before it have their time.
        while ready:
            infoset = ready.pop()
            for later in after[infoset]:
                time[later] = max(time.get(later, 0), time[infoset] + 1)
                n_before[later] -= 1
                if not n_before[later]:
                    ready.append(later)
        if stuck := sorted(infoset for infoset, count in n_before.items() if count):
            labels = [self.game.infoset_labels[infoset] for infoset in stuck[:2]]
            team = "+".join(map(str, self.members))
            raise ValueError(
                f"the infosets of the team {team} in {self.game.name} have no order: each of "
                f"{' and '.join(map(repr, labels))} is before the other in some play"
            )
        return time


def _split(views: _Views, classes: Iterable[int]) -> list[list[int]]:
    """Split classes into groups that no infoset of the team at or below them connects."""
    return _groups(sorted(classes), [views.classes[number].reach for number in sorted(classes)])


def _groups(items: Iterable[int], reaches: Iterable[int]) -> list[list[int]]:
    """Split items into groups whose reaches, sets of bits, overlap."""
    groups: list[tuple[int, list[int]]] = []
    for item, reach in zip(items, reaches, strict=True):
        joined, disjoint = [item], []
        # An item joins all groups that it overlaps into one.
        for other_reach, members in groups:
            if other_reach & reach:
                reach |= other_reach
                joined = members + joined
            else:
                disjoint.append((other_reach, members))
        groups = [*disjoint, (reach, joined)]
    return [sorted(members) for _, members in groups]


@dataclass
class _PublicState:
    """All classes that a belief may have here; a belief is a subset of them, a set of bits."""

    views: _Views
    depth: int
    classes: list[int]
    beliefs: dict[int, int] = field(default_factory=dict)
    """Beliefs so far: from the bits of a belief to its number in this state."""
    beliefs_by_bits: dict[int, tuple[int, ...]] = field(default_factory=lambda: {0: ()})
    """Beliefs by the bits of the classes that follow a prescription."""
    links: tuple[array[int], array[int]] = field(default_factory=lambda: (array("q"), array("q")))
    """Prescriptions, and the beliefs of this state that follow them."""

    def __post_init__(self) -> None:
        views = self.views
        # The earliest infosets act now.  Classes of later infosets wait and pass on unchanged.
        times = [views.time[views.classes[number].infoset] for number in self.classes]
        acts = [time == min(times) for time in times]
        later: set[int] = set()
        for number, acting in zip(self.classes, acts, strict=True):
            later.update(chain(*views.classes[number].children) if acting else (number,))
        self.reaches = [views.classes[number].reach for number in self.classes]
        self.after = [
            _PublicState(views, self.depth + 1, classes) for classes in _split(views, later)
        ]
        where = {
            number: (k, 1 << bit)
            for k, state in enumerate(self.after)
            for bit, number in enumerate(state.classes)
        }
        self.acting: dict[int, int] = {}
        """Bits of the classes at each infoset at which a member acts now."""
        self.next: list[list[list[int]]] = []
        """Bits in each state after this one, for each bit and action.  A class at which nobody acts
        now has one entry in place of its actions."""
        for bit, (number, acting) in enumerate(zip(self.classes, acts, strict=True)):
            class_ = views.classes[number]
            if acting:
                self.acting[class_.infoset] = self.acting.get(class_.infoset, 0) | 1 << bit
            self.next.append([])
            for children in class_.children if acting else [{number}]:
                bits = [0] * len(self.after)
                for child in children:
                    state, own_bit = where[child]
                    bits[state] |= own_bit
                self.next[-1].append(bits)
        self.waiting = sum(1 << bit for bit, acting in enumerate(acts) if not acting)

    @property
    def most_prescriptions(self) -> int:
        """Bound on the number of prescriptions here: a belief has a set of last sequences of each
        member who acted before."""
        views, form = self.views, self.views.game.form
        options = {last: 1 for number in self.classes for last in views.classes[number].last}
        for infoset in self.acting:
            options[int(form.infoset_parent[infoset])] *= int(views.n_actions[infoset])
        empty = set(form.player_sequences.tolist())
        # A belief may lack a last sequence that is not empty, which is one more option.
        return prod(count + (last not in empty) for last, count in options.items())

    def beliefs_of(self, bits: int) -> tuple[int, ...]:
        """Return the numbers of the beliefs into which classes, given as bits, split."""
        if bits not in self.beliefs_by_bits:
            positions = list(_bits(bits))
            groups = _groups(positions, [self.reaches[bit] for bit in positions])
            parts = [sum(1 << bit for bit in group) for group in groups]
            self.beliefs_by_bits[bits] = tuple(
                self.beliefs.setdefault(part, len(self.beliefs)) for part in parts
            )
        return self.beliefs_by_bits[bits]

    def follow(self, first: int, bits: Iterable[int]) -> None:
        """Link prescriptions, numbered from ``first``, to the beliefs after each, given as bits."""
        beliefs = list(map(self.beliefs_of, bits))
        counts = list(map(len, beliefs))
        source = np.repeat(np.arange(first, first + len(counts)), counts)
        self.links[0].frombytes(source.tobytes())
        self.links[1].extend(chain.from_iterable(beliefs))


def _in_order(states: list[_PublicState]) -> Iterator[_PublicState]:
    """Yield the public states, level by level from the top."""
    while states:
        yield from states
        states = [below for state in states for below in state.after]


def _bits(bits: int) -> Iterator[int]:
    """Yield the positions of the bits that are set."""
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


def _build(views: _Views, top: list[_PublicState], states: list[_PublicState]) -> BeliefDag:
    """Build the DAG, public state by public state: all beliefs of a state are known when its turn
    comes."""
    depth, counts, infosets, ends = array("q"), array("q"), array("q"), array("q")
    leaf_links = [np.array([[-1] * len(views.first_leaves), sorted(views.first_leaves)], np.int64)]
    belief_links = []
    # The play begins in the belief of all classes of each top state.
    for state in top:
        state.follow(-1, [(1 << len(state.classes)) - 1])
    first = 0
    for state in states:
        # The bound of :attr:`_PublicState.most_prescriptions` may be too low where members learn
        # secrets before they act.
        views.check_memory(f"{first:,} prescriptions and more", first * BYTES_PER_PRESCRIPTION)
        begin = len(depth)
        for bits in state.beliefs:
            acting = [
                (infoset, bits & class_bits)
                for infoset, class_bits in state.acting.items()
                if bits & class_bits
            ]
            shape = [int(views.n_actions[infoset]) for infoset, _ in acting]
            depth.append(state.depth)
            counts.append(prod(shape))
            infosets.extend(infoset for infoset, _ in acting)
            ends.append(len(infosets))
            for k, below in enumerate(state.after):
                # Begin with the bits that follow without a choice; each infoset then adds the bits
                # of its action.
                after = [_union(state.next[bit][0][k] for bit in _bits(bits & state.waiting))]
                for (_, class_bits), actions in zip(acting, shape, strict=True):
                    action_bits = [
                        _union(state.next[bit][action][k] for bit in _bits(class_bits))
                        for action in range(actions)
                    ]
                    after = [union | addition for union in after for addition in action_bits]
                below.follow(first, after)
            # Axis k is the k-th infoset that acts, in the order in which prescriptions are
            # numbered.
            number = np.arange(first, first + counts[-1]).reshape(shape)
            for axis, (_, class_bits) in enumerate(acting):
                for action in range(shape[axis]):
                    leaves = sorted(
                        set().union(
                            *(
                                views.classes[state.classes[b]].leaves[action]
                                for b in _bits(class_bits)
                            )
                        )
                    )
                    chosen = number.take(action, axis=axis).ravel()
                    leaf_links.append(
                        np.stack([np.repeat(chosen, len(leaves)), np.tile(leaves, len(chosen))])
                    )
            first += counts[-1]
        links = np.array(state.links, dtype=np.int64)
        links[1] += begin
        belief_links.append(links)
        # Later states do not need the beliefs of this one.
        state.beliefs.clear()
        state.beliefs_by_bits.clear()
    no_links = np.empty((2, 0), dtype=np.int64)
    return BeliefDag(
        members=views.members,
        depth=np.array(depth, dtype=np.int64),
        prescriptions=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
        infosets=np.array(infosets, dtype=np.int64),
        infosets_end=np.array(ends, dtype=np.int64),
        belief_links=np.concatenate([no_links, *belief_links], axis=1),
        leaf_links=np.concatenate([no_links, *leaf_links], axis=1).astype(np.int64),
        leaves=views.leaves,
        terminal_leaf=views.terminal_leaf,
    )


def _union(sets: Iterable[int]) -> int:
    """Return the union of sets of bits."""
    return reduce(or_, sets, 0)
