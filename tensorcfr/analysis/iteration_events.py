"""Single iterations as events: each reach, value, regret and average, in the engine's order."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np

from .._util.argument_checks import Whole, checked
from .._util.memory_budget import require
from .._util.one_line import OneLine
from .._util.plain import plain
from ..algorithms import Sampling, find_algorithm
from ..kernels.random import Seed
from ..model.arrays import CHANCE, TERMINAL
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.public_nodes import START
from ..model.team_game import reach_by_steps, step_probabilities
from ..solvers.base import IterativeSolver
from ..solvers.solver_arguments import Deal, Named
from ..solvers.traversal import fixed_chance
from .history_values import descendants, find_history, step_label, values_of_profiles
from .sampled_branches import BranchReader, refuse_sampling
from .walkthroughs import Numbers, numbers_of, solver_to_show, update_profiles

MAX_ITERATIONS = 100
"""Largest number of iterations to show."""
MAX_HISTORIES = 1_000
"""Largest number of histories to show by default."""
MAX_TERMS = 24
"""Largest number of histories in the sum of a regret that are shown one by one."""


@dataclass(frozen=True)
class ShownHistory:
    """One history that is shown."""

    parent: int
    """Index of the history before it among those shown; -1 for the first one."""
    label: str
    """Label of the outcome or action that leads to it."""
    actor: int
    """Acting player; -1 for chance, -2 at a terminal."""
    infoset: int
    """Index of its infoset among those shown; -1 without one."""
    probability: float
    """Probability of the chance outcome that leads to it; 1 after an action."""
    utility: tuple[float, ...]
    """Utilities of a terminal; empty elsewhere."""
    is_stub: bool
    """True if the histories after it are not shown, because no traversal visits it."""


@dataclass(frozen=True)
class ShownInfoset:
    """One infoset that is shown."""

    label: str
    """Label of the infoset."""
    player: int
    """Player who acts."""
    actions: tuple[str, ...]
    """Labels of its actions."""
    merged: tuple[str, ...]
    """Labels of the other infosets with which the solver merges it."""


@dataclass(frozen=True)
class Term:
    """Contribution of one history to the regrets of its infoset, ``weight * (values - value)``."""

    history: str
    """Labels of the steps to the history."""
    node: int
    """Index among the nodes shown; -1 if the history is not shown."""
    weight: float
    """Counterfactual reach; in sampled traversals without the probabilities that cancel."""
    values: tuple[float, ...]
    """Value after each action; in outcome sampling the estimate."""
    value: float
    """Value of the history under the strategy that was played."""


@dataclass(frozen=True)
class Learned:
    """Update of one infoset's regrets and strategy."""

    infoset: int
    """Index among the infosets shown."""
    terms: tuple[Term, ...]
    """Histories whose contributions sum to the instantaneous regrets."""
    instant: tuple[float, ...]
    """Instantaneous regrets."""
    regret: tuple[float, ...]
    """Cumulative regrets before the update."""
    new_regret: tuple[float, ...]
    """Cumulative regrets after it."""
    strategy: tuple[float, ...]
    """Strategy that was played."""
    new_strategy: tuple[float, ...]
    """Strategy of the next iteration."""


@dataclass(frozen=True)
class Averaged:
    """Addition to one infoset's cumulative strategy: ``scale * old + weight * reach / sampled *
    strategy``, if the algorithm has no other average."""

    infoset: int
    """Index among the infosets shown."""
    weight: float
    """Averaging weight of the iteration; with optimistic averaging, of all since the last visit."""
    reach: float
    """Reach of the infoset by its player's own actions; 1 if the traversal sampled them."""
    sampled: float
    """Probability with which the traversal visits the infoset, without chance and the factor
    ``reach``; 1 without sampling."""
    scale: float
    """Factor of the old sum: 0 where the average restarts."""
    strategy: tuple[float, ...]
    """Strategy that was played."""
    strategy_sum: tuple[float, ...]
    """Cumulative strategy before the addition."""
    new_strategy_sum: tuple[float, ...]
    """Cumulative strategy after it."""


@dataclass(frozen=True)
class Update:
    """Update of one player in one iteration; arrays of nodes have a number for each node shown."""

    player: int
    """The player."""
    scheme: str
    """``"whole"``, ``"chance"``, ``"external"`` or ``"outcome"``."""
    reach: tuple[tuple[float, ...], ...]
    """Reach of each player, then of chance, for each node."""
    value: tuple[float | None, ...]
    """Value to the player for each node; None if the update does not visit the node."""
    drawn: tuple[float | None, ...]
    """Outcome sampling: probability with which the player's action into the node was drawn."""
    strategy: tuple[tuple[float, ...], ...]
    """Strategies that the update uses, for each infoset shown."""
    passed: tuple[tuple[float, ...], ...]
    """Strategies whose values are passed up.  Some algorithms use the new strategy for them."""
    learned: tuple[Learned, ...]
    """Updates of infosets."""
    averaged: tuple[Averaged, ...]
    """Additions to averages."""


@dataclass(frozen=True)
class Pass:
    """One pass over the tree, with its events."""

    title: str
    """Name of the pass."""
    update: int
    """Index of the update in the iteration."""
    events: tuple[tuple[str, int], ...]
    """Kind and index: ``"reach"`` and ``"value"`` of a node, ``"regret"`` in ``learned``,
    ``"average"`` in ``averaged``."""


@dataclass(frozen=True)
class ShownIteration:
    """One iteration: the state before it, its updates and its passes."""

    number: int
    """Number of the iteration, from 1."""
    regret: tuple[tuple[float, ...], ...]
    """Cumulative regrets before the iteration, for each infoset shown."""
    strategy: tuple[tuple[float, ...], ...]
    """Strategies before it."""
    strategy_sum: tuple[tuple[float, ...], ...]
    """Cumulative strategies before it."""
    updates: tuple[Update, ...]
    """Updates of the players, in order."""
    passes: tuple[Pass, ...]
    """Passes, in order."""


@dataclass(frozen=True, repr=False)
class IterationEvents(OneLine):
    """The first iterations of an algorithm, event by event."""

    game: str
    """Name of the game."""
    algorithm: str
    """Name and options of the algorithm."""
    formula: str
    """Formula in one line."""
    n_players: int
    """Number of players."""
    n_histories: int
    """Number of histories of the game."""
    path: tuple[str, ...]
    """Labels of the steps to the first node shown."""
    nodes: tuple[ShownHistory, ...]
    """Histories that are shown, parents first."""
    infosets: tuple[ShownInfoset, ...]
    """Infosets that are shown, in the order of play."""
    iterations: tuple[ShownIteration, ...]
    """The iterations, in order."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain lists and dictionaries for JSON."""
        fields: dict[str, Any] = plain(asdict(self))
        return fields


@checked()
def iteration_events(
    game: Flat,
    algorithm: Named,
    *,
    iters: Annotated[int, Whole(1, MAX_ITERATIONS)] = 2,
    line: Deal = (),
    deal: Deal | None = None,
    seed: Seed | None = None,
    most: Annotated[int, Whole(1)] = MAX_HISTORIES,
) -> IterationEvents:
    """Run a few iterations, and record each number in the order in which the engine computes it.

    >>> from tensorcfr import compile_game
    >>> events = iteration_events(compile_game("kuhn"), "cfr", iters=1)
    >>> [each.title for each in events.iterations[0].passes][:2]
    ['forward pass of player 0: reaches', 'backward pass of player 0: values and regrets']
    >>> learned = events.iterations[0].updates[0].learned[0]
    >>> events.infosets[learned.infoset].label, learned.instant
    ('J', (-0.125, 0.125))

    Regrets, strategies and averages are those of the solver.  Reaches, values and instantaneous
    regrets are computed at each history from the strategies that the update uses.

    Args:
        game: The game.
        algorithm: A name or a record of an iterative algorithm; of those that sample, one that
            samples chance, external plays or outcomes.
        iters: Number of iterations.
        line: Labels of outcomes and actions from the start; only the histories after them are
            shown.  A larger game is shown around its first deal, or, if the algorithm samples,
            around the sampled branches.
        deal: Chance outcomes that happen for certain, as for :func:`walkthrough`.
        seed: Seed of an algorithm that samples.
        most: Largest number of histories to show.

    Raises:
        ValueError: There are more histories to show than ``most``; the message names a line.  Or
            the algorithm cannot be shown; see :func:`walkthrough`.
        KeyError: The line does not exist.
        MemoryLimitError: There is not enough free memory.
    """
    if isinstance(line, str):
        raise ValueError(f"a line is a sequence of steps, not the text {line!r}")
    require(8 * game.n_histories * (4 * game.n_players + 8), f"histories of {game.name}")
    top = find_history(game, tuple(map(str, line)))
    record = find_algorithm(algorithm)
    if isinstance(record, Sampling):
        refuse_sampling(record)
    solver = solver_to_show(game, record, deal=deal, seed=seed)
    shown = None if record.is_sampled else _part(game, top, most, None)
    recorder = _IterationRecorder(
        solver, game.tree.probability if deal is None else fixed_chance(game, deal)[0]
    )
    for _ in range(iters):
        recorder.iterate()
    if shown is None:
        shown = _part(game, top, most, recorder.visited)
    return _Assembly(recorder, shown).assemble()


def _part(game: FlatGame, top: int, most: int, visited: np.ndarray | None) -> np.ndarray:
    """Return the histories to show from a history on, int64, ascending.

    Args:
        game: The game.
        top: First history.
        most: Largest number of histories.
        visited: bool (nodes,): visited histories of an algorithm that samples; None of others.
    """
    tree, first = game.tree, top
    below = descendants(tree, top)
    if below.sum() > most and visited is not None:
        # Actions that no traversal tried are shown, too.
        below &= visited | (visited[tree.parent] & (tree.player[tree.parent] >= 0))
    if below.sum() > most and top == 0:
        # Show the first deal.
        while tree.player[first] == CHANCE:
            children = np.arange(*tree.first_child[first : first + 2].tolist())
            first = int(children[np.argmax(below[children])])
        below &= descendants(tree, first)
    if (count := int(below.sum())) > most:
        steps = game.history(first)
        while int((descendants(tree, first) & below).sum()) > most:
            children = np.arange(*tree.first_child[first : first + 2].tolist())
            first = int(children[np.argmax(below[children])])
            steps = (*steps, step_label(game, first))
        raise ValueError(
            f"{game.name}: {count:,} histories to show, more than {most:,}; show a part with "
            f"line, such as {','.join(steps)!r}"
        )
    return np.flatnonzero(below)


Terms = tuple[int, float, np.ndarray, float]
"""History, weight, values after its actions, and its value; see :class:`Term`."""


@dataclass
class _Work:
    """One update over all histories of the game, before a part is chosen."""

    player: int
    scheme: str
    profile: np.ndarray
    """float64 (sequences,): strategies that the update uses."""
    passed: np.ndarray
    """float64 (sequences,): strategies whose values are passed up."""
    reach: np.ndarray
    """float64 (nodes, players + 1)."""
    value: np.ndarray
    """float64 (nodes,): NaN where the update does not go."""
    drawn: np.ndarray
    """float64 (nodes,): NaN where nothing was drawn."""
    learned: dict[int, list[Terms]]
    """Contributions to each infoset's regrets."""
    averaged: list[tuple[int, float, float, float]]
    """Infoset, weight, reach and sampling probability of each addition to an average."""
    events: list[tuple[str, int]]
    """Kind and node; of regrets the infoset, of averages the index in ``averaged``."""
    pending: list[int]
    """Infosets whose regrets are updated after the traversal."""
    average_events: list[tuple[str, int]]
    """Additions to averages in a pass of their own."""


class _IterationRecorder:
    """Runs a solver iteration by iteration, and computes the numbers of each update."""

    def __init__(self, solver: IterativeSolver, chance: np.ndarray) -> None:
        self.solver, self.chance = solver, chance
        self.game: FlatGame = solver.game
        self.variant = solver.algorithm.variant
        self.reader = BranchReader(solver) if solver.algorithm.is_sampled else None
        self.visited = np.zeros(self.game.n_histories, bool)
        self.numbers: list[Numbers] = [numbers_of(solver)]
        """Numbers before the first iteration, and after each one."""
        self.clock = 0.0
        """Sum of the averaging weights, the current iteration included."""
        self.work: list[list[_Work]] = []
        """Updates of each iteration."""
        self.updates_at_once = bool(
            self.reader is not None
            and self.variant.alternating
            and solver.algorithm.scheme == "chance"
            and self.reader.tree.visits_once
        )
        """True if a traversal that samples chance updates infosets on the way up."""
        tree = self.game.tree
        self.mover = np.append(CHANCE, tree.player[tree.parent[1:]])

    def iterate(self) -> None:
        """Run an iteration and record its updates."""
        number, before = len(self.work) + 1, self.numbers[-1]
        solver: Any = self.solver
        last = solver.state.last if self.reader else np.empty(0)
        solver.iterate()
        after = numbers_of(solver)
        profiles = update_profiles(solver, before[1], after[1])
        weight = float(self.variant.schedule(number, 1)[0, 0])
        if self.reader is None:
            updates = [
                self._whole(player, profile, after[1], weight)
                for player, profile in profiles.items()
            ]
        else:
            self.clock += weight
            start, updates = self.reader.generator.copy(), []
            for player, profile in profiles.items():
                # Players who do not alternate learn from the same draws.
                if not self.variant.alternating:
                    self.reader.generator[:] = start
                updates.append(self._sampled(player, profile, weight, last))
            assert (self.reader.generator == solver.state.generator).all()
        self.numbers.append(after)
        self.work.append(updates)

    def _steps(self, profile: np.ndarray) -> np.ndarray:
        """Return the probability of the action or outcome into each history, float64 (nodes,)."""
        steps = step_probabilities(self.game, profile)
        return np.where(self.mover == CHANCE, self.chance, steps)

    def _begin(self, player: int, scheme: str, profile: np.ndarray) -> _Work:
        """Create the record of an update, with the reaches of all histories."""
        tree, steps = self.game.tree, self._steps(profile)
        actors = [*range(self.game.n_players), CHANCE]
        reaches = [
            reach_by_steps(tree, np.where(self.mover == actor, steps, 1.0)) for actor in actors
        ]
        value, drawn = np.full((2, tree.n_nodes), np.nan)
        arrays = profile, profile, np.stack(reaches, axis=1), value, drawn
        return _Work(player, scheme, *arrays, {}, [], [], [], [])

    def _choices(self, player: int) -> list[int]:
        """Return the histories in which a player has several actions, ascending."""
        tree = self.game.tree
        chooses = (tree.player == player) & (np.diff(tree.first_child) > 1)
        return np.flatnonzero(chooses).tolist()

    def _whole(self, player: int, profile: np.ndarray, new: np.ndarray, weight: float) -> _Work:
        """Record an update that passes over the whole tree."""
        game, tree = self.game, self.game.tree
        work = self._begin(player, "whole", profile)
        if self.variant.passes_up == "new":
            numbers = slice(*game.form.player_sequences[player : player + 2].tolist())
            work.passed = profile.copy()
            work.passed[numbers] = new[numbers]
        values = values_of_profiles(game, [work.passed] * game.n_players, self.chance)
        work.value = values.value[:, player]
        others = np.delete(work.reach, player, axis=1).prod(axis=1)
        learners = self._choices(player)
        first = {int(tree.infoset[node]): node for node in reversed(learners)}
        work.events = [("reach", node) for node in range(tree.n_nodes)]
        for node in reversed(range(tree.n_nodes)):
            work.events.append(("value", node))
            # By perfect recall, all values after an infoset are known at its first history.
            if first.get(int(tree.infoset[node])) == node:
                work.events.append(("regret", int(tree.infoset[node])))
        for node in learners:
            below = work.value[slice(*tree.first_child[node : node + 2].tolist())]
            infoset = int(tree.infoset[node])
            value = float(profile[game.sequences(infoset)] @ below)
            if infoset not in work.learned:
                reach = float(work.reach[node, player])
                work.average_events.append(("average", len(work.averaged)))
                work.averaged.append((infoset, weight, reach, 1.0))
            work.learned.setdefault(infoset, []).append((node, float(others[node]), below, value))
        return work

    def _sampled(self, player: int, profile: np.ndarray, weight: float, last: np.ndarray) -> _Work:
        """Record an update that traverses a sampled branch."""
        assert self.reader is not None
        tree, record = self.game.tree, self.solver.algorithm
        work = self._begin(player, record.scheme, profile)
        steps = self._steps(profile)
        branch = self.reader.traverse(player, steps)
        self.visited[branch.visited] = True
        # Probability with which the player's own draws lead to each history.
        led = dict.fromkeys(branch.visited, 1.0)
        for node in branch.visited[1:]:
            led[node] = led[int(tree.parent[node])] * branch.drawn.get(node, 1.0)
        work.drawn[list(branch.drawn)] = list(branch.drawn.values())
        averaging = record.averaging_among(self.game.n_players)
        follows_plays = record.scheme in ("external", "outcome")
        for is_down, node in branch.order:
            actor, infoset = int(tree.player[node]), int(tree.infoset[node])
            first, end = tree.first_child[node : node + 2].tolist()
            if is_down:
                work.events.append(("reach", node))
            chooses = actor >= 0 and end - first > 1
            adds = (actor == player) != (averaging == "simple")
            # Averages are added on the way down, but by players who then learn here on the way up.
            learns_first = averaging != "simple" and record.scheme != "outcome"
            if chooses and adds and is_down != learns_first:
                sampled = led[node]
                if follows_plays:
                    cancelled = {player, actor}
                    sampled *= self._product(work.reach[node], cancelled)
                own_reach = 1.0 if averaging == "simple" else float(work.reach[node, player])
                total = weight
                if averaging == "optimistic":
                    total, sampled = float(self.clock - last[infoset]), 1.0
                if infoset not in work.learned or follows_plays:
                    work.events.append(("average", len(work.averaged)))
                    work.averaged.append((infoset, total, own_reach, sampled))
            if is_down:
                continue
            work.value[node] = self._value(work, node, steps)
            work.events.append(("value", node))
            if not chooses or actor != player:
                continue
            below, factor = np.nan_to_num(work.value[first:end]), 1.0
            if record.scheme == "outcome":
                below, factor = np.nan_to_num(below / work.drawn[first:end]), 1.0 / led[node]
            elif not follows_plays:
                reach = work.reach[node] if record.scheme == "whole" else work.reach[node, :-1]
                factor = self._product(reach, {player})
            if infoset not in work.learned:
                if follows_plays or self.updates_at_once:
                    work.events.append(("regret", infoset))
                else:
                    work.pending.append(infoset)
            term = node, factor, below, float(work.value[node])
            work.learned.setdefault(infoset, []).append(term)
        return work

    def _product(self, reach: np.ndarray, without: set[int]) -> float:
        """Return the product of the reaches of all players but some; chance counts if given."""
        # Without chance in the schemes that sample it.
        count = self.game.n_players if self.solver.algorithm.scheme != "whole" else len(reach)
        return float(np.prod([reach[factor] for factor in range(count) if factor not in without]))

    def _value(self, work: _Work, node: int, steps: np.ndarray) -> float:
        """Return the value of a visited history, from those after it."""
        tree, actor = self.game.tree, int(self.game.tree.player[node])
        if actor == TERMINAL:
            utility = tree.utility[np.searchsorted(tree.terminal, node), work.player]
            return float(utility * self.game.unit)
        children = np.arange(*tree.first_child[node : node + 2].tolist())
        children = children[~np.isnan(work.value[children])]
        below = work.value[children]
        if not np.isnan(work.drawn[children]).any():
            return float(steps[children] / work.drawn[children] @ below)
        plays = work.scheme in ("external", "outcome")
        is_sampled = work.scheme != "whole" if actor == CHANCE else plays and actor != work.player
        return float(below[0] if is_sampled else steps[children] @ below)


class _Assembly:
    """Reduces the recorded updates to the histories that are shown.

    Args:
        recorder: The recorded iterations.
        shown: int64, ascending: histories to show.
    """

    def __init__(self, recorder: _IterationRecorder, shown: np.ndarray) -> None:
        self.recorder, self.game, self.shown = recorder, recorder.game, shown
        tree = self.game.tree
        self.index = {int(node): k for k, node in enumerate(shown)}
        infosets, first = np.unique(tree.infoset[shown], return_index=True)
        is_infoset = infosets >= 0
        self.infosets = infosets[is_infoset][np.argsort(first[is_infoset])].tolist()
        self.infoset_index = {infoset: k for k, infoset in enumerate(self.infosets)}
        self.sums: dict[int, np.ndarray] = {}

    def assemble(self) -> IterationEvents:
        """Return the events."""
        recorder, game = self.recorder, self.game
        record = recorder.solver.algorithm
        iterations = tuple(self._iteration(k) for k in range(len(recorder.work)))
        return IterationEvents(
            game=game.name,
            algorithm=str(record),
            formula=record.formula,
            n_players=game.n_players,
            n_histories=game.n_histories,
            path=game.history(int(self.shown[0])),
            nodes=tuple(self._node(int(node)) for node in self.shown),
            infosets=tuple(self._infoset(infoset) for infoset in self.infosets),
            iterations=iterations,
        )

    def _node(self, node: int) -> ShownHistory:
        tree = self.game.tree
        utility: tuple[float, ...] = ()
        if tree.player[node] == TERMINAL:
            row = tree.utility[np.searchsorted(tree.terminal, node)]
            utility = tuple((row * self.game.unit).tolist())
        parent = self.index.get(int(tree.parent[node]), -1)
        children = range(*tree.first_child[node : node + 2].tolist())
        return ShownHistory(
            parent=parent,
            label=step_label(self.game, node) if parent >= 0 else "",
            actor=int(tree.player[node]),
            infoset=self.infoset_index.get(int(tree.infoset[node]), -1),
            probability=float(self.recorder.chance[node]),
            utility=utility,
            is_stub=not utility and self.index.keys().isdisjoint(children),
        )

    def _infoset(self, infoset: int) -> ShownInfoset:
        game, labels = self.game, self.game.infoset_labels
        merged: tuple[str, ...] = ()
        problem = self.recorder.solver.problem
        if problem.merged_numbers is not None and len(game.infoset_actions[infoset]) > 1:
            owner, _ = problem.form.trunk.owners
            merged_infoset = owner[problem.merged_numbers[game.infoset_sequence]]
            same = np.flatnonzero(merged_infoset == merged_infoset[infoset]).tolist()
            merged = tuple(labels[index] for index in same if index != infoset)
        actions = game.infoset_actions[infoset]
        return ShownInfoset(labels[infoset], int(game.infoset_player[infoset]), actions, merged)

    def _at(self, numbers: np.ndarray, infoset: int, unit: float = 1.0) -> tuple[float, ...]:
        """Return the numbers of an infoset's actions."""
        return tuple((numbers[self.game.sequences(infoset)] * unit).tolist())

    def _iteration(self, k: int) -> ShownIteration:
        recorder, unit = self.recorder, self.game.unit
        before, after, works = recorder.numbers[k], recorder.numbers[k + 1], recorder.work[k]
        left = [addition[0] for work in works for addition in work.averaged]
        updates = []
        for work in works:
            averaged = []
            for addition in work.averaged:
                left.remove(addition[0])
                averaged.append(self._averaged(k, work, addition, is_last=addition[0] not in left))
            updates.append(self._update(work, before, after, averaged))
        self.sums.clear()
        return ShownIteration(
            number=k + 1,
            regret=tuple(self._at(before[0], infoset, unit) for infoset in self.infosets),
            strategy=tuple(self._at(before[1], infoset) for infoset in self.infosets),
            strategy_sum=tuple(self._at(before[2], infoset) for infoset in self.infosets),
            updates=tuple(updates),
            passes=tuple(self._passes(works, updates)),
        )

    def _update(
        self, work: _Work, before: Numbers, after: Numbers, averaged: list[Averaged | None]
    ) -> Update:
        shown = self.shown
        learned = [
            self._learned(work, infoset, before, after)
            for infoset in work.learned
            if infoset in self.infoset_index
        ]
        return Update(
            player=work.player,
            scheme=work.scheme,
            reach=tuple(map(tuple, work.reach[shown].tolist())),
            value=tuple(None if np.isnan(x) else x for x in work.value[shown].tolist()),
            drawn=tuple(None if np.isnan(x) else x for x in work.drawn[shown].tolist()),
            strategy=tuple(self._at(work.profile, infoset) for infoset in self.infosets),
            passed=tuple(self._at(work.passed, infoset) for infoset in self.infosets),
            learned=tuple(learned),
            averaged=tuple(addition for addition in averaged if addition is not None),
        )

    def _learned(self, work: _Work, infoset: int, before: Numbers, after: Numbers) -> Learned:
        terms, unit = work.learned[infoset], self.game.unit
        instant = _sum([weight * (values - value) for _, weight, values, value in terms])
        shown = [
            Term(
                history=" ".join(self.game.history(node)) or START,
                node=self.index.get(node, -1),
                weight=weight,
                values=tuple(values.tolist()),
                value=value,
            )
            for node, weight, values, value in terms[:MAX_TERMS]
        ]
        if rest := terms[MAX_TERMS:]:
            values = _sum([weight * values for _, weight, values, _ in rest])
            value = sum(weight * value for _, weight, _, value in rest)
            shown.append(Term(f"{len(rest):,} more", -1, 1.0, tuple(values.tolist()), value))
        regret, new_regret = (self._at(numbers[0], infoset, unit) for numbers in (before, after))
        return Learned(
            infoset=self.infoset_index[infoset],
            terms=tuple(shown),
            instant=tuple(instant.tolist()),
            regret=regret,
            new_regret=new_regret,
            strategy=self._at(work.profile, infoset),
            new_strategy=self._at(after[1], infoset),
        )

    def _averaged(
        self, k: int, work: _Work, addition: tuple[int, float, float, float], *, is_last: bool
    ) -> Averaged | None:
        """Return an addition to an average; None if its infoset is not shown."""
        infoset, weight, reach, sampled = addition
        if infoset not in self.infoset_index:
            return None
        sequences, scale = self.game.sequences(infoset), 1.0
        if infoset not in self.sums:
            self.sums[infoset] = self.recorder.numbers[k][2][sequences]
            scale = next(self.recorder.variant.runs(k + 1, 1))[0]
        old, strategy = self.sums[infoset], work.profile[sequences]
        expected = scale * old + weight * reach / sampled * strategy
        new = self.recorder.numbers[k + 1][2][sequences] if is_last else expected
        self.sums[infoset] = new
        return Averaged(
            infoset=self.infoset_index[infoset],
            weight=weight,
            reach=reach,
            sampled=sampled,
            scale=scale,
            strategy=tuple(strategy.tolist()),
            strategy_sum=tuple(old.tolist()),
            new_strategy_sum=tuple(new.tolist()),
        )

    def _passes(self, works: list[_Work], updates: list[Update]) -> list[Pass]:
        """Return the passes of an iteration in the engine's order."""
        pairs = enumerate(zip(works, updates, strict=True))
        by_update = [self._passes_of(k, work, update) for k, (work, update) in pairs]
        if self.recorder.variant.alternating:
            return [each for passes in by_update for each in passes]
        # All players compute before any player's strategy changes.
        first = 2 if self.recorder.reader else 1
        parts = slice(first), slice(first, None)
        return [each for part in parts for passes in by_update for each in passes[part]]

    def _passes_of(self, k: int, work: _Work, update: Update) -> list[Pass]:
        """Return the passes of one update: down, up, and those after them."""
        kept = [j for j, addition in enumerate(work.averaged) if addition[0] in self.infoset_index]
        number = {
            "reach": self.index,
            "value": self.index,
            "regret": {self.infosets[row.infoset]: j for j, row in enumerate(update.learned)},
            "average": {addition: j for j, addition in enumerate(kept)},
        }
        pending = [("regret", infoset) for infoset in work.pending]
        turn = next(j for j, event in enumerate(work.events) if event[0] == "value")
        titles = {
            f"forward pass of player {work.player}: reaches": work.events[:turn],
            f"backward pass of player {work.player}: values and regrets": work.events[turn:],
            f"update of player {work.player}: regrets and strategies": pending,
            f"forward pass of player {work.player}: average": work.average_events,
        }
        if work.scheme == "external":
            titles = {f"traversal of player {work.player}: down, and back with values": work.events}
        return [
            Pass(
                title, k, tuple((kind, number[kind][j]) for kind, j in events if j in number[kind])
            )
            for title, events in titles.items()
            if events
        ]


def _sum(arrays: list[np.ndarray]) -> np.ndarray:
    total: np.ndarray = np.sum(arrays, axis=0)
    return total
