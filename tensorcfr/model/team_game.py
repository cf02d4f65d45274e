"""The game of two teams: each side's infosets are beliefs, its actions are prescriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Annotated, NamedTuple

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from ..payoff.entries import payoff_entries
from .arrays import HistoryTree, SequenceForm, infoset_layout, levels_below_root, named_arrays
from .belief_dag import BeliefDag, belief_dag
from .chunked_form import ChunkedForm
from .compiled_game import PayingGame
from .flat_game import FlatGame
from .infoset_numbers import InfosetNumbers
from .layout import Layout
from .teams import TEAMS, Teams, check_teams, name_teams

AGREED = "Strategies are of teams, whose members agree on prescriptions before the play."
TMECOR = "The equilibrium is a team-maxmin equilibrium with correlation (TMECor)."


class Links(NamedTuple):
    """Sequences that lead to each infoset; there may be several."""

    first: np.ndarray
    """int64 (infosets + 1,): infoset ``I`` has the links ``[I]`` to ``[I + 1] - 1``."""
    sequence: np.ndarray
    """int64 (links,): sequence that leads to the infoset."""


class Numbered(NamedTuple):
    """Positions of the prescriptions, beliefs and leaves of belief DAGs in their sequence form."""

    place: tuple[np.ndarray, ...]
    """Sequences of the prescriptions, and the empty sequence at the end, for each side int64
    (prescriptions + 1,)."""
    belief: tuple[np.ndarray, ...]
    """Infosets of the beliefs, for each side int64 (beliefs,)."""
    leaf: tuple[np.ndarray, ...]
    """Sequences of the leaves, for each side int64 (leaves,)."""


@dataclass(frozen=True, eq=False)
class TeamGame(InfosetNumbers, PayingGame):
    """Two teams against each other, each of which agrees on plans before the play.

    :func:`tensorcfr.solve` accepts it in place of a compiled game.  :func:`team_game` makes one.

    Side 0 and side 1 are its players.  An infoset is a belief of a team, or a leaf, which has no
    choice; an action is a prescription, an action for each infoset of a member who acts now.
    """

    game: FlatGame
    """Game that the teams play."""
    teams: tuple[tuple[int, ...], ...]
    """Players of each team."""
    dags: tuple[BeliefDag, ...]
    """Beliefs of each team."""
    form: SequenceForm
    """Sequence form of the two sides.  The infosets are the beliefs of each side, then its leaves,
    which have one action.  All have the empty sequence as parent; :attr:`links` has the sequences
    that lead to them."""
    links: Links
    """Sequences that lead to each infoset."""
    numbered: Numbered
    """Positions of the prescriptions, beliefs and leaves in these arrays."""

    layout = Layout.TEAMS
    merged = None
    merged_numbers = None

    @property
    def caveat(self) -> str:
        """Meaning of an equilibrium in this game."""
        return f"{AGREED}  {TMECOR}" if self.constant_sum else AGREED

    @property
    def name(self) -> str:
        """Name of the game and its teams."""
        return name_teams(self.game.name, self.teams)

    def chunked_form(self, *, merged: bool) -> ChunkedForm:
        """Return the form of beliefs and leaves, which is never merged."""
        return self.chunks

    @property
    def unit(self) -> float:
        """Unit of the game's payoffs."""
        return self.game.unit

    @property
    def n_histories(self) -> int:
        """Number of beliefs and leaves, which an update passes over."""
        return self.form.n_infosets

    @property
    def n_decision_nodes(self) -> int:
        """Number of beliefs."""
        return sum(dag.n_beliefs for dag in self.dags)

    @property
    def utilities(self) -> np.ndarray:
        """Utilities of the game."""
        return self.game.utilities

    @cached_property
    def infoset_labels(self) -> Sequence[str]:
        """Labels of the infosets, ``"0+1 #7: Jp, Qp"``: the team, the number of a belief and the
        infosets at which members act.  A team of one has the labels of the game."""
        all_labels: list[str] = [""] * self.n_infosets
        for team, dag, belief_infosets, leaf_infosets in self._sides():
            name = "+".join(map(str, team))
            for belief, infoset in enumerate(belief_infosets.tolist()):
                labels = [
                    self.game.infoset_labels[member_infoset]
                    for member_infoset in dag.infosets_of(belief)
                ]
                text = ", ".join(labels) or "nobody acts"
                all_labels[infoset] = text if len(team) == 1 else f"{name} #{belief}: {text}"
            for number, infoset in enumerate(leaf_infosets):
                all_labels[infoset] = f"{name} leaf {number}"
        return all_labels

    @cached_property
    def infoset_actions(self) -> Sequence[tuple[str, ...]]:
        """Labels of the prescriptions, ``("Jp bet, Qp pass", ...)``: an action for each infoset;
        only the action if there is one infoset."""
        all_actions: list[tuple[str, ...]] = [("end",)] * self.n_infosets
        for _, dag, belief_infosets, _ in self._sides():
            for belief, infoset in enumerate(belief_infosets.tolist()):
                all_actions[infoset] = tuple(self._prescriptions(dag.infosets_of(belief).tolist()))
        return all_actions

    def _sides(self) -> Iterator[tuple[tuple[int, ...], BeliefDag, np.ndarray, range]]:
        """Yield team, beliefs, infosets of beliefs and infosets of leaves of each side."""
        ends = self.form.player_infosets.tolist()
        for side, (team, dag) in enumerate(zip(self.teams, self.dags, strict=True)):
            end = ends[side + 1]
            yield team, dag, self.numbered.belief[side], range(end - dag.n_leaves, end)

    def _prescriptions(self, infosets: list[int]) -> list[str]:
        """Return the labels of all prescriptions for some infosets."""
        if len(infosets) == 1:
            return list(self.game.infoset_actions[infosets[0]])
        label, actions = self.game.infoset_labels, self.game.infoset_actions
        choices = [
            [f"{label[infoset]} {action}" for action in actions[infoset]] for infoset in infosets
        ]
        return [", ".join(chosen) or "wait" for chosen in product(*choices)]

    @cached_property
    def infoset_index(self) -> Mapping[str, int]:
        """Mapping from labels to infosets."""
        return {label: infoset for infoset, label in enumerate(self.infoset_labels)}

    @cached_property
    def digest(self) -> str:
        """Fingerprint by which solutions compare games."""
        return f"{self.game.digest} {self.teams}"

    def summary(self) -> str:
        """Return a short text: beliefs, prescriptions and leaves of both teams."""
        lines = [self.name]
        for team, dag in zip(self.teams, self.dags, strict=True):
            links = dag.belief_links.shape[1] + dag.leaf_links.shape[1]
            lines.append(
                f"  team {'+'.join(map(str, team))}: {dag.n_beliefs:,} beliefs, "
                f"{int(dag.prescriptions[-1]):,} prescriptions, {dag.n_leaves:,} leaves, "
                f"{links:,} links"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<TeamGame {self.name}: {self.n_sequences:,} sequences>"


@checked()
def team_game(
    game: Annotated[FlatGame, Kind((FlatGame,), "a flat compiled game")],
    teams: Annotated[Teams, TEAMS],
    *,
    memory_limit: Limit = None,
) -> TeamGame:
    """Make a game of two sides from two teams that agree on plans before the play.

    A team may draw its plan at random and tell each member their part.  During the play members
    know only their own observations.  A team's payoff is the sum of its members' payoffs.  In a
    game with a constant sum the equilibrium of the two sides is the team-maxmin equilibrium with
    correlation (TMECor).

    The number of prescriptions grows exponentially with the members' secrets, the hands that each
    may hold as far as the others know, and not with the number of histories.

    >>> from tensorcfr import compile_game, solve, team_game
    >>> teams = team_game(compile_game("kuhn(players=3, cards=4)"), ((0, 1), (2,)))
    >>> print(teams.summary())
    kuhn(players=3, cards=4), teams 0+1 v 2
      team 0+1: 315 beliefs, 1,408 prescriptions, 132 leaves, 5,511 links
      team 2: 16 beliefs, 32 prescriptions, 32 leaves, 48 links
    >>> round(24 * solve(teams, "lp").value[0], 9)
    -1.0

    Args:
        game: The game.
        teams: ``((0, 2), (1, 3))``: players 0 and 2 against players 1 and 3.
        memory_limit: Bytes that the beliefs may take; by default the machine's free memory.

    Raises:
        ValueError: There are not two teams; a player is in both or in none; a number is not a
            player of the game; a player forgets; the infosets of a team have no order.
        MemoryLimitError: The beliefs may not fit; raised before they are made.
    """
    sides = check_teams(game.name, game.n_players, teams)
    if game.layout == Layout.TIED:
        raise ValueError(f"{game.name} has imperfect recall: a team needs members who remember")
    dags = tuple(belief_dag(game, team, memory_limit=memory_limit) for team in sides)
    form, links, numbered = link(dags)
    tree = game.tree
    last = np.stack([numbered.leaf[side][dag.terminal_leaf] for side, dag in enumerate(dags)])
    paid = np.stack([tree.utility[:, list(team)].sum(axis=1) for team in sides], axis=1)
    # Every player counts as a member here, so that only the chance probabilities remain.
    chance = reach_without(game, range(game.n_players), np.ones(game.n_sequences))[tree.terminal]
    entries = payoff_entries(last, chance[:, None] * paid, form.player_sequences)
    form = form._replace(operator=() if entries.is_empty else (entries,))
    for array in (*dict(named_arrays(form)).values(), *entries, *links):
        array.flags.writeable = False
    return TeamGame(game, sides, dags, form, links, numbered)


def step_probabilities(game: FlatGame, strategy: np.ndarray) -> np.ndarray:
    """Return the probability of the action or outcome that leads into each history, float64
    (nodes,); 1 for the root.

    Args:
        game: The game.
        strategy: float64 (sequences,): the strategies of all players.
    """
    tree: HistoryTree = game.tree
    step = tree.probability.copy()
    # Histories after chance, and the root, keep their probability.
    node = 1 + np.flatnonzero(tree.player[tree.parent[1:]] >= 0)
    parent = tree.parent[node]
    infoset, action = tree.infoset[parent], node - tree.first_child[parent]
    step[node] = strategy[game.infoset_sequence[infoset] + action * game.infoset_stride[infoset]]
    return step


def reach_by_steps(tree: HistoryTree, step: np.ndarray) -> np.ndarray:
    """Compute the reach of each history, the product of the probabilities on the path to it.

    Args:
        tree: The histories.
        step: float64 (nodes,): result of :func:`step_probabilities`.

    Returns:
        float64 (nodes,).
    """
    reach = step.copy()
    for level in levels_below_root(tree.first_child):
        reach[level] *= reach[tree.parent[level]]
    return reach


def reach_without(game: FlatGame, members: Sequence[int], strategy: np.ndarray) -> np.ndarray:
    """Compute the probability of each history if the members of a team play towards it.

    Args:
        game: The game.
        members: The players of the team.
        strategy: float64 (sequences,): the strategies of the others.

    Returns:
        float64 (nodes,).
    """
    tree: HistoryTree = game.tree
    step = step_probabilities(game, strategy)
    step[1:][np.isin(tree.player[tree.parent[1:]], list(members))] = 1.0
    return reach_by_steps(tree, step)


def link(dags: Sequence[BeliefDag]) -> tuple[SequenceForm, Links, Numbered]:
    """Convert belief DAGs to one sequence form without payoffs, one side per DAG."""
    bucket_keys: list[tuple[np.ndarray, ...]] = []
    for side, dag in enumerate(dags):
        # Leaves are infosets of one action below all beliefs.
        below = np.full(dag.n_leaves, dag.depth.max(initial=-1) + 1)
        level = np.append(dag.depth, below)
        actions = np.append(np.diff(dag.prescriptions), np.ones_like(below))
        bucket_keys.append((np.full(len(level), side), level, actions))
    owner, level, actions = (np.concatenate(column) for column in zip(*bucket_keys, strict=True))
    order, layout = infoset_layout(owner, level, actions, len(dags))
    infosets = len(order)
    # Order of the DAGs to order of the form.
    number = np.empty(infosets, dtype=np.int64)
    number[order] = np.arange(infosets)
    ends, empty = layout["player_infosets"].tolist(), layout["player_sequences"]
    parent = np.repeat(empty[:-1], np.diff(ends)).astype(np.uint32)
    form = SequenceForm(**layout, infoset_parent=parent, operator=())
    first, stride = form.infoset_sequence, form.infoset_stride
    prescription_sequences, beliefs, leaves, sources, targets = [], [], [], [], []
    for side, dag in enumerate(dags):
        belief, leaf = np.split(number[ends[side] : ends[side + 1]], [dag.n_beliefs])
        belief_of = np.repeat(np.arange(dag.n_beliefs), np.diff(dag.prescriptions))
        action = np.arange(len(belief_of)) - dag.prescriptions[belief_of]
        # Prescription -1, the start, is the last element: the empty sequence.
        prescription_sequence = np.append(
            first[belief[belief_of]] + action * stride[belief[belief_of]], empty[side]
        )
        sources += [
            prescription_sequence[dag.belief_links[0]],
            prescription_sequence[dag.leaf_links[0]],
        ]
        targets += [belief[dag.belief_links[1]], leaf[dag.leaf_links[1]]]
        prescription_sequences.append(prescription_sequence)
        beliefs.append(belief)
        leaves.append(first[leaf])
    target, source = np.concatenate(targets), np.concatenate(sources)
    # Sort links by target, so that the links of an infoset are contiguous.
    by_target = np.argsort(target, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(target, minlength=infosets))])
    links = Links(begin, source[by_target])
    return form, links, Numbered(tuple(prescription_sequences), tuple(beliefs), tuple(leaves))
