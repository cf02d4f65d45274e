"""Two teams against each other: members agree on plans beforehand, and not during the play.

A team's payoff is the sum of its members'.  Before the play a team may draw a joint pure plan at
random and tell each member their part; during the play members know only what the rules show them.
A *team-maxmin equilibrium with correlation* (TMECor) is an equilibrium between the two teams' mixed
joint plans.  In games with a constant sum its value is unique.

It is found by column generation.  A linear program mixes the joint plans known so far; an oracle,
a mixed-integer program, finds the best joint plan of each team against the other's mixture; the
plan is added, until no plan is better.  A team of one player is a polytope of realization plans in
the linear program, and needs no oracle.

Sources: B. von Stengel, D. Koller, "Team-maxmin equilibria", Games and Economic Behavior 21, 1997;
A. Celli, N. Gatti, "Computational results for extensive-form adversarial team games", AAAI 2018
(column generation with a mixed-integer oracle).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import Kind, checked
from .._util.memory import free_memory
from ..errors import MemoryLimitError, MissingExtraError
from ..formats.policies import find_policy
from ..kernels import evaluation as kernels
from ..model.arguments import Compiled
from ..model.game import CompiledGame
from ..model.policy import Policy
from ..model.teams import TEAMS, Teams, check_teams, player_of
from ..payoff import count_entries, triples
from .linear_program import _sequence_constraints
from .metrics import BestResponse, PolicyLike, expected_values

GAP = 1e-9
"""A joint plan that is better by less than this, in units of the game, is no better."""
LEAST_GAP = 1e-10
"""Where payoffs times chance probabilities are small, this takes its place: HiGHS does not tell
smaller differences apart."""
ROUNDS = 100_000
"""Joint plans that are tried at most."""


@dataclass(frozen=True)
class TeamEquilibrium:
    """A team-maxmin equilibrium with correlation, in the game's own unit of utility."""

    teams: tuple[tuple[int, ...], ...]
    """The players of each team."""
    values: tuple[float, float]
    """Expected sum of the members' utilities, of each team."""
    gap: float
    """What one team, or the other, could at most gain by another plan, together."""
    plans: tuple[tuple[tuple[float, Policy], ...], ...]
    """Of each team, joint plans with their probabilities.  Players outside the team are uniform
    in them.  The plan of a team of one is a single mixed strategy."""


@checked()
def team_equilibrium(game: Compiled, teams: Annotated[Teams, TEAMS]) -> TeamEquilibrium:
    """The equilibrium of two teams that correlate their plans beforehand, exact to ``GAP``.

    Time grows steeply with the infosets of a team of two or more: for small games.

    >>> from tensorcfr import compile_game
    >>> found = team_equilibrium(compile_game("kuhn"), ((0,), (1,)))
    >>> round(18 * found.values[0], 6)
    -1.0

    Args:
        game: The game.
        teams: ``((0, 2), (1, 3))``: players 0 and 2 against players 1 and 3.

    Raises:
        ValueError: There are not two teams; a player is in both, in none, or is none of the game;
            the utilities have no constant sum.
        MemoryLimitError: The payoffs, entry by entry, would not fit.
        MissingExtraError: scipy is not installed; says what installs it.
        RuntimeError: HiGHS found no optimum; says what HiGHS says.
    """
    sides = check_teams(game.name, game.n_players, teams)
    least, most = game.utility_sums
    if not game.constant_sum:
        raise ValueError(
            f"teams are for games with a constant sum, and the utilities of {game.name} sum to "
            f"{least:g} at one terminal and to {most:g} at another: what one team gains the other "
            "need not lose"
        )
    payoffs = _team_payoffs(game, sides[0])
    # The team whose plans are mixed; a team of one is better off as a polytope.
    first = 0 if len(sides[0]) > 1 else 1
    master = _Master(payoffs, sides[first], sides[1 - first], 1.0 if first == 0 else -1.0)
    gap = master.run()
    value = game.unit * (master.value if first == 0 else -master.value)
    plans = (master.plans_of_rows(game), master.plans_of_columns(game))
    return TeamEquilibrium(
        sides,
        (value, most - value),
        gap * game.unit,
        plans if first == 0 else plans[::-1],
    )


@checked()
def team_best_response(
    game: Compiled,
    policy: PolicyLike,
    team: Annotated[Sequence[int], Kind((Sequence,), "players")],
) -> BestResponse:
    """The best joint pure plan of a team against the strategies of the others, exactly.

    ``value`` is the expected sum of the members' utilities; less that under ``policy``, it is what
    the team could gain together.  For small games, as :func:`team_equilibrium`.

    Args:
        game: The game.
        policy: The strategies of all players.
        team: The players of the team, by number.

    Raises:
        ValueError: A player is twice in the team, or none of the game; the policy is not one for
            this game.
        MemoryLimitError: The payoffs, entry by entry, would not fit.
        MissingExtraError: scipy is not installed; says what installs it.
        RuntimeError: HiGHS found no optimum; says what HiGHS says.
    """
    checked_player = player_of(game.name, game.n_players)
    members = tuple(checked_player("team", player) for player in team)
    if len(set(members)) < len(members) or not members:
        raise ValueError(f"team must name one player or more, each once, not {tuple(team)}")
    strategy = find_policy(game, policy).probabilities.copy()
    reach = np.empty(game.n_sequences)
    kernels.realization_plan(game.form, strategy, reach)
    payoffs = _team_payoffs(game, members)
    weight = payoffs.value.copy()
    for other in set(range(game.n_players)) - set(members):
        weight *= reach[payoffs.first[other] + payoffs.sequence[other]]
    value, plan, _ = _best_plan(payoffs, members, weight)
    best = strategy.copy()
    for player, own in plan.items():
        begin = payoffs.first[player]
        reach[begin : begin + len(own)] = own
    kernels.normalise(game.form, reach, best)
    for player in plan:
        begin, end = game.form.player_sequences[player : player + 2]
        strategy[begin:end] = best[begin:end]
    return BestResponse(value * game.unit, Policy(game, strategy))


@dataclass(frozen=True)
class TeamExploitability:
    """What two teams could gain by correlated best responses, in the game's own unit."""

    teams: tuple[tuple[int, ...], ...]
    """The players of each team."""
    values: tuple[float, ...]
    """Expected sum of the members' utilities, of each team."""
    best_responses: tuple[BestResponse, ...]
    """The best joint plan of each team against the other's strategies."""

    @property
    def gains(self) -> tuple[float, ...]:
        """What each team gains by its best joint plan."""
        return tuple(
            best.value - value for best, value in zip(self.best_responses, self.values, strict=True)
        )

    @property
    def exploitability(self) -> float:
        """The mean of the two gains; 0 exactly where neither team has a better joint plan."""
        return sum(self.gains) / len(self.teams)


@checked()
def team_exploitability(
    game: Compiled, policy: PolicyLike, teams: Annotated[Teams, TEAMS]
) -> TeamExploitability:
    """What each of two teams gains if its members agree on the best joint plan, exactly.

    The strategies of the other team are as they are: its members play independently.  For small
    games, as :func:`team_equilibrium`.

    Args:
        game: The game; whether its players share payoffs (``compile_game(..., teams=...)``) makes
            no difference.
        policy: The strategies of all players.
        teams: ``((0, 2), (1, 3))``: players 0 and 2 against players 1 and 3.

    Raises:
        ValueError: There are not two teams; a player is in both, in none, or is none of the game;
            the policy is not one for this game.
        MemoryLimitError: The payoffs, entry by entry, would not fit.
        MissingExtraError: scipy is not installed; says what installs it.
        RuntimeError: HiGHS found no optimum; says what HiGHS says.
    """
    sides = check_teams(game.name, game.n_players, teams)
    value = expected_values(game, policy)
    return TeamExploitability(
        sides,
        tuple(float(sum(value[player] for player in side)) for side in sides),
        tuple(team_best_response(game, policy, side) for side in sides),
    )


class _Payoffs(NamedTuple):
    """What a team gets, entry by entry, with chance probabilities."""

    game: CompiledGame
    first: list[int]
    """The first sequence of each player."""
    sequence: np.ndarray
    """int64 (players, entries): a sequence of each player, counted from the player's first."""
    value: np.ndarray
    """float64 (entries,): payoff of the team, in the unit of the arrays."""


def _team_payoffs(game: CompiledGame, members: Sequence[int]) -> _Payoffs:
    """The sum of the members' payoffs."""
    form = game.form
    entries = sum(count_entries(form, player) for player in members)
    needed = 8 * (game.n_players + 1) * 4 * entries
    if needed > (limit := free_memory()):
        raise MemoryLimitError(f"the payoffs of a team in {game.name}", needed, limit)
    first = form.player_sequences[:-1].astype(np.int64)
    rows, values = [], []
    for player in members:
        own, others, value = triples(form, player)
        sequence = np.empty((game.n_players, len(own)), dtype=np.int64)
        sequence[player] = own - first[player]
        rest = [other for other in range(game.n_players) if other != player]
        sequence[rest] = others - first[rest][:, None]
        rows.append(sequence)
        values.append(value)
    unique, where = np.unique(np.concatenate(rows, axis=1), axis=1, return_inverse=True)
    value = np.bincount(where.ravel(), weights=np.concatenate(values), minlength=unique.shape[1])
    kept = value != 0.0
    return _Payoffs(game, first.tolist(), unique[:, kept], value[kept])


Plan = dict[int, np.ndarray]
"""Realization plans of the members of a team, float64 (sequences of the player,)."""


def _best_plan(
    payoffs: _Payoffs, members: Sequence[int], weight: np.ndarray
) -> tuple[float, Plan, float]:
    """The best joint pure plan of a team.

    Args:
        payoffs: The payoffs.
        members: The players of the team.
        weight: float64 (entries,): payoffs times what the others reach.

    Returns:
        Its value, the plan, and a bound of the value of every plan.
    """
    game, last = payoffs.game, members[-1]
    if len(members) == 1:
        gradient = np.bincount(payoffs.sequence[last], weights=weight, minlength=_count(game, last))
        value, own = _best_response(game, last, gradient)
        return value, {last: own}, value
    plan, bound = _mixed_integer(payoffs, members, weight)
    # The last member's best response to the others' pure plans, without the solver's rounding.
    for player in members[:-1]:
        weight = weight * plan[player][payoffs.sequence[player]]
    value, found, _ = _best_plan(payoffs, members[-1:], weight)
    return value, plan | found, max(bound, value)


def _count(game: CompiledGame, player: int) -> int:
    """Sequences of a player."""
    begin, end = game.form.player_sequences[player : player + 2].tolist()
    return int(end - begin)


def _best_response(
    game: CompiledGame, player: int, gradient: np.ndarray
) -> tuple[float, np.ndarray]:
    """A pure realization plan of the highest payoff, float64 (sequences of the player,)."""
    form = game.form
    begin = int(form.player_sequences[player])
    value, plan = gradient.copy(), np.zeros(len(gradient))
    first, last = form.player_infosets[player : player + 2].tolist()
    chosen = {}
    for infoset in range(last - 1, first - 1, -1):
        own = game.sequences(infoset)
        sequences = np.arange(own.start, own.stop, own.step or 1) - begin
        chosen[infoset] = int(sequences[np.argmax(value[sequences])])
        value[int(form.infoset_parent[infoset]) - begin] += value[chosen[infoset]]
    plan[0] = 1.0
    for infoset in range(first, last):
        plan[chosen[infoset]] = plan[int(form.infoset_parent[infoset]) - begin]
    return float(value[0]), plan


def _mixed_integer(
    payoffs: _Payoffs, members: Sequence[int], weight: np.ndarray
) -> tuple[Plan, float]:
    """A best joint plan by HiGHS, and a bound.

    Realization plans of all members but the last are whole numbers; then those of the last are at
    a vertex.  A variable for each combination of the members' sequences is at most each of their
    reaches where it pays, and at least their sum less the members but one where it costs.
    """
    sparse, optimize = _scipy()
    game, own = payoffs.game, payoffs.sequence[list(members)]
    together, where = np.unique(own, axis=1, return_inverse=True)
    payoff = np.bincount(where.ravel(), weights=weight, minlength=together.shape[1])
    kept = payoff != 0.0
    together, payoff = together[:, kept], payoff[kept]
    scale = 1e3 / (np.abs(payoff).max() if len(payoff) else 1.0)
    sizes = [_count(game, player) for player in members]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n, m = int(offsets[-1]), len(payoff)
    constraints = sparse.block_diag(
        [_sequence_constraints(game.form, player) for player in members], format="csr"
    )
    constraints = sparse.hstack([constraints, sparse.csr_array((constraints.shape[0], m))])
    right = np.concatenate([np.eye(1, _infosets(game, player) + 1)[0] for player in members])
    gains, costs = np.flatnonzero(payoff > 0.0), np.flatnonzero(payoff < 0.0)
    rows = []
    for k in range(len(members)):
        at = offsets[k] + together[k, gains]
        count = len(gains)
        rows.append(_pairs(sparse, count, n + gains, at, -1.0, n + m))
    lower = _pairs(sparse, len(costs), n + costs, None, 0.0, n + m)
    for k in range(len(members)):
        at = offsets[k] + together[k, costs]
        lower = lower + _pairs(sparse, len(costs), None, at, -1.0, n + m)
    bounds = [
        optimize.LinearConstraint(constraints, right, right),
        optimize.LinearConstraint(sparse.vstack(rows, format="csr"), -np.inf, 0.0),
        optimize.LinearConstraint(lower, 1.0 - len(members), np.inf),
    ]
    whole = np.zeros(n + m)
    whole[: offsets[-2]] = 1.0
    result = optimize.milp(
        np.concatenate([np.zeros(n), -scale * payoff]),
        constraints=[bound for bound in bounds if bound.A.shape[0]],
        integrality=whole,
        bounds=optimize.Bounds(0.0, 1.0),
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise RuntimeError(f"HiGHS found no best plan for {game.name}: {result.message}")
    plan = {
        player: np.round(result.x[offsets[k] : offsets[k + 1]]) for k, player in enumerate(members)
    }
    return plan, -float(result.mip_dual_bound) / scale


def _infosets(game: CompiledGame, player: int) -> int:
    """Infosets of a player."""
    first, last = game.form.player_infosets[player : player + 2].tolist()
    return int(last - first)


def _pairs(
    sparse: Any,
    rows: int,
    one: np.ndarray | None,
    other: np.ndarray | None,
    number: float,
    columns: int,
) -> Any:
    """A sparse matrix with a 1 at ``one[k]`` and a number at ``other[k]`` of row ``k``."""
    at = [a for a in (one, other) if a is not None]
    values = ([1.0] if one is not None else []) + ([number] if other is not None else [])
    row = np.tile(np.arange(rows), len(at))
    value = np.repeat(values, rows)
    column = np.concatenate(at) if at else np.empty(0, dtype=np.int64)
    return sparse.csr_array((value, (row, column)), shape=(rows, columns))


def _scipy() -> tuple[Any, Any]:
    """``scipy.sparse`` and ``scipy.optimize``."""
    try:
        from scipy import optimize, sparse
    except ImportError as error:
        raise MissingExtraError("scipy", "lp") from error
    return sparse, optimize


class _Master:
    """The linear program over the plans known so far.

    The *rows* maximise over mixtures of joint plans; the *columns* minimise, over mixtures of
    joint plans or, a team of one, over realization plans.
    """

    def __init__(
        self, payoffs: _Payoffs, rows: Sequence[int], columns: Sequence[int], sign: float
    ) -> None:
        self.payoffs, self.rows, self.columns = payoffs, rows, columns
        self.entry = sign * payoffs.value
        self.value = 0.0
        self.is_polytope = len(columns) == 1
        # Any plans will do to begin with: the best ones where all payoffs count alike.
        alike = np.ones(len(self.entry))
        self.row_plans = [self._answer(rows, alike, 1.0)[1]]
        self.column_plans = [] if self.is_polytope else [self._answer(columns, alike, -1.0)[1]]

    def run(self) -> float:
        """Add plans until none is better; returns the gap that is left."""
        least = GAP * float(np.abs(self.entry).max(initial=0.0)) * max(len(self.entry), 1)
        least = min(max(least, LEAST_GAP), GAP)
        for _ in range(ROUNDS):
            self._solve()
            row_reach = self._mixed(self.row_plans, self.row_mix)
            if self.is_polytope:
                column_reach = self._reaches({self.columns[0]: self.column_mix})
            else:
                column_reach = self._mixed(self.column_plans, self.column_mix)
            value, plan, most = self._answer(self.rows, column_reach, 1.0)
            better = value > self.value + least
            if better:
                self.row_plans.append(plan)
            fewest = self.value
            if not self.is_polytope:
                value, plan, bound = self._answer(self.columns, row_reach, -1.0)
                fewest = -bound
                if -value < self.value - least:
                    self.column_plans.append(plan)
                    better = True
            if not better:
                return max(most - fewest, 0.0)
        raise RuntimeError(f"no equilibrium after {ROUNDS:,} joint plans")

    def _answer(
        self, own: Sequence[int], faced: np.ndarray, sign: float
    ) -> tuple[float, Plan, float]:
        """The best joint plan of a team against what the other reaches, float64 (entries,)."""
        return _best_plan(self.payoffs, own, sign * self.entry * faced)

    def _reaches(self, plan: Plan) -> np.ndarray:
        """What the members of a team reach with a joint plan, float64 (entries,)."""
        reach = np.ones(len(self.entry))
        for player, own in plan.items():
            reach *= own[self.payoffs.sequence[player]]
        return reach

    def _mixed(self, plans: list[Plan], mix: np.ndarray) -> np.ndarray:
        """What a team reaches with a mixture of joint plans, float64 (entries,)."""
        total = np.zeros(len(self.entry))
        for probability, plan in zip(mix, plans, strict=True):
            if probability > 0.0:
                total += probability * self._reaches(plan)
        return total

    def _solve(self) -> None:
        """The mixtures of the plans known so far, and their value."""
        _, optimize = _scipy()
        rows = [self.entry * self._reaches(plan) for plan in self.row_plans]
        if self.is_polytope:
            (player,) = self.columns
            size, at = _count(self.payoffs.game, player), self.payoffs.sequence[player]
            payoff = np.array([np.bincount(at, weights=row, minlength=size) for row in rows])
            equal = _sequence_constraints(self.payoffs.game.form, player).toarray()
        else:
            reached = [self._reaches(plan) for plan in self.column_plans]
            payoff = np.array([[float(row @ reach) for reach in reached] for row in rows])
            equal = np.ones((1, len(reached)))
        count, size = payoff.shape
        result = optimize.linprog(
            np.append(np.zeros(size), 1.0),
            A_ub=np.hstack([payoff, -np.ones((count, 1))]),
            b_ub=np.zeros(count),
            A_eq=np.hstack([equal, np.zeros((equal.shape[0], 1))]),
            b_eq=np.eye(1, equal.shape[0])[0],
            bounds=[(0.0, None)] * size + [(None, None)],
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if result.status != 0:
            raise RuntimeError(f"HiGHS found no mixture of plans: {result.message}")
        self.value = float(result.x[-1])
        self.column_mix = result.x[:-1].clip(min=0.0)
        mix = -result.ineqlin.marginals.clip(max=0.0)
        self.row_mix = mix / mix.sum()

    def plans_of_rows(self, game: CompiledGame) -> tuple[tuple[float, Policy], ...]:
        """The mixture of the rows."""
        return _policies(game, self.row_mix, self.row_plans)

    def plans_of_columns(self, game: CompiledGame) -> tuple[tuple[float, Policy], ...]:
        """The mixture of the columns."""
        if self.is_polytope:
            return _policies(game, np.ones(1), [{self.columns[0]: self.column_mix}])
        return _policies(game, self.column_mix, self.column_plans)


def _policies(
    game: CompiledGame, mix: np.ndarray, plans: list[Plan]
) -> tuple[tuple[float, Policy], ...]:
    """Joint plans as policies, in which players outside the team are uniform."""
    found = []
    for probability, plan in zip(mix.tolist(), plans, strict=True):
        if probability <= 0.0:
            continue
        reach, strategy = np.zeros((2, game.n_sequences))
        for player, own in plan.items():
            begin = int(game.form.player_sequences[player])
            reach[begin : begin + len(own)] = own
        kernels.normalise(game.form, reach, strategy)
        found.append((probability, Policy(game, strategy)))
    return tuple(found)
