"""Two teams against each other: members agree on plans beforehand, but do not communicate in play.

A team's payoff is the sum of its members' payoffs.  Before the play a team may draw a joint pure
plan at random and tell each member their part.  During the play members know only their own
observations.  A *team-maxmin equilibrium with correlation* (TMECor) is an equilibrium between the
two teams' mixed joint plans.  In games with a constant sum its value is unique.

A team's mixed joint plans are the flows through its belief DAG (:mod:`tensorcfr.model.belief_dag`),
so that the equilibrium is a linear program and a best response takes one pass.

Sources: B. von Stengel, D. Koller, "Team-maxmin equilibria", Games and Economic Behavior 21, 1997;
B. H. Zhang, G. Farina, T. Sandholm, "Team belief DAG: generalizing the sequence form to team games
for fast computation of correlated team max-min equilibria via regret minimization", ICML 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

from .._util.argument_checks import Kind, Limit, checked
from .._util.one_line import OneLine
from ..formats.policies import find_policy
from ..kernels import links as kernels
from ..model.belief_dag import BeliefDag, belief_dag
from ..model.flat_game import FlatGame
from ..model.game_arguments import Flat
from ..model.policy import Policy
from ..model.team_game import link, reach_without, team_game
from ..model.teams import TEAMS, Teams, check_teams, player_of
from .linear_program import equilibrium
from .metrics import BestResponse, PolicyLike, expected_values

LEAST = 1e-12
"""Probability below which a joint plan counts as rounding."""


@dataclass(frozen=True, repr=False)
class TeamEquilibrium(OneLine):
    """Team-maxmin equilibrium with correlation, in the game's own unit of utility."""

    teams: tuple[tuple[int, ...], ...]
    """Players of each team."""
    values: tuple[float, float]
    """Expected sum of the members' utilities, for each team."""
    gap: float
    """Sum of both teams' gains from their best other plans; 0 up to rounding."""
    plans: tuple[tuple[tuple[float, Policy], ...], ...]
    """Joint plans of each team with their probabilities.  At infosets that a plan does not reach,
    and for players outside the team, its strategies are uniform.  The plan of a team of one is a
    single mixed strategy."""


@checked()
def team_equilibrium(
    game: Flat, teams: Annotated[Teams, TEAMS], *, memory_limit: Limit = None
) -> TeamEquilibrium:
    """Compute an equilibrium of two teams that correlate their plans beforehand, exact to rounding.

    Time and memory grow with the prescriptions of :func:`tensorcfr.team_game`; beyond some 100,000,
    run an iterative algorithm on the team game with ``solve``.

    >>> from tensorcfr import compile_game
    >>> found = team_equilibrium(compile_game("kuhn"), ((0,), (1,)))
    >>> round(18 * found.values[0], 6)
    -1.0

    Args:
        game: The game.
        teams: ``((0, 2), (1, 3))``: players 0 and 2 against players 1 and 3.
        memory_limit: Bytes that the beliefs, and then the linear program, may take; by default the
            machine's free memory.

    Raises:
        ValueError: There are not two teams; a player is in both or in none, or does not exist; the
            utilities do not have a constant sum; the infosets of a team cannot be ordered.
        MemoryLimitError: The beliefs or the linear program may not fit.
        MissingExtraError: scipy is not installed; names the command that installs it.
        RuntimeError: HiGHS found no optimum; quotes its message.
    """
    check_teams(game.name, game.n_players, teams)
    if not game.constant_sum:
        least, most = game.utility_sums
        raise ValueError(
            f"teams are for games with a constant sum, and the utilities of {game.name} sum to "
            f"{least:g} at one terminal and to {most:g} at another: one team's gain need not be "
            "the other's loss"
        )
    both = team_game(game, teams, memory_limit=memory_limit)
    policy, evaluation = equilibrium(both, memory_limit=memory_limit)
    form, reach = both.form.bare, np.empty(both.n_sequences)
    kernels.linked_forward(form, both.links, policy.probabilities, reach)
    plans = tuple(
        tuple(_plans(game, dag, reach[place]))
        for dag, place in zip(both.dags, both.numbered.place, strict=True)
    )
    value, gap = evaluation.values[0], max(evaluation.nash_conv, 0.0)
    return TeamEquilibrium(both.teams, (value, game.utility_sums[1] - value), gap, plans)


@checked()
def team_best_response(
    game: Flat,
    policy: PolicyLike,
    team: Annotated[Sequence[int], Kind((Sequence,), "players")],
    *,
    memory_limit: Limit = None,
) -> BestResponse:
    """Compute the best joint pure plan of a team against the strategies of the others, exactly.

    ``value`` is the expected sum of the members' utilities.  Minus the same sum under ``policy``,
    it is the gain that the team could achieve together.  Time and memory are as for
    :func:`tensorcfr.team_game`.

    Args:
        game: The game.
        policy: The strategies of all players.
        team: The players of the team, by number.
        memory_limit: Bytes that the beliefs may take; by default the machine's free memory.

    Raises:
        ValueError: A player is twice in the team or does not exist; the policy does not fit this
            game; the infosets of the team cannot be ordered.
        MemoryLimitError: The beliefs may not fit; raised before they are built.
    """
    checked_player = player_of(game.name, game.n_players)
    members = tuple(checked_player("team", player) for player in team)
    if len(set(members)) < len(members) or not members:
        raise ValueError(f"team must name one player or more, each once, not {tuple(team)}")
    strategy = find_policy(game, policy).probabilities
    dag = belief_dag(game, members, memory_limit=memory_limit)
    form, links, numbered = link([dag])
    paid = game.tree.utility[:, list(members)].sum(axis=1)
    paid = paid * reach_without(game, members, strategy)[game.tree.terminal]
    value, chosen, reach = np.zeros((3, form.n_sequences))
    value[numbered.leaf[0]] = np.bincount(dag.terminal_leaf, paid, dag.n_leaves)
    kernels.linked_backward(form, links, 0, chosen, value, True)
    kernels.linked_forward(form, links, chosen, reach)
    return BestResponse(
        float(value[0]) * game.unit, _policy_of_flow(game, dag, reach[numbered.place[0]], strategy)
    )


@dataclass(frozen=True, repr=False)
class TeamExploitability(OneLine):
    """Two teams' gains from correlated best responses, in the game's own unit of utility."""

    teams: tuple[tuple[int, ...], ...]
    """Players of each team."""
    values: tuple[float, ...]
    """Expected sum of the members' utilities, for each team."""
    best_responses: tuple[BestResponse, ...]
    """Best joint plan of each team against the other's strategies."""

    @property
    def gains(self) -> tuple[float, ...]:
        """Gain of each team's best joint plan."""
        return tuple(
            best.value - value for best, value in zip(self.best_responses, self.values, strict=True)
        )

    @property
    def exploitability(self) -> float:
        """Mean of the two gains; 0 exactly if neither team has a better joint plan."""
        return sum(self.gains) / len(self.teams)


@checked()
def team_exploitability(
    game: Flat,
    policy: PolicyLike,
    teams: Annotated[Teams, TEAMS],
    *,
    memory_limit: Limit = None,
) -> TeamExploitability:
    """Compute the gain of each of two teams if its members agree on the best joint plan, exactly.

    The strategies of the other team stay as they are: its members play independently.

    Args:
        game: The game; it may have been compiled with ``teams=``, which makes no difference.
        policy: The strategies of all players.
        teams: ``((0, 2), (1, 3))``: players 0 and 2 against players 1 and 3.
        memory_limit: Bytes that the beliefs of a team may take; by default the machine's free
            memory.

    Raises:
        ValueError: There are not two teams; a player is in both or in none, or does not exist; the
            policy does not fit this game; the infosets of a team cannot be ordered.
        MemoryLimitError: The beliefs may not fit; raised before they are built.
    """
    sides = check_teams(game.name, game.n_players, teams)
    value = expected_values(game, policy)
    return TeamExploitability(
        sides,
        tuple(float(sum(value[player] for player in side)) for side in sides),
        tuple(team_best_response(game, policy, side, memory_limit=memory_limit) for side in sides),
    )


def _plans(game: FlatGame, dag: BeliefDag, flow: np.ndarray) -> list[tuple[float, Policy]]:
    """Decompose a flow into joint plans, whose mixture has the same own reaches.

    Each round follows the largest share at every belief.  It subtracts this plan with the largest
    probability that leaves no share negative, until nothing is left.

    Args:
        game: The game.
        dag: Beliefs of the team.
        flow: float64 (prescriptions + 1,): own reaches of the prescriptions, then 1; modified.

    Returns:
        Pairs of a probability and a joint plan.
    """
    uniform = Policy.uniform(game).probabilities
    if len(dag.members) == 1:
        return [(1.0, _policy_of_flow(game, dag, flow, uniform))]
    order = np.argsort(dag.belief_links[0], kind="stable")
    after = dag.belief_links[1, order]
    # The beliefs after prescription ``p`` are ``first[p + 1]`` to ``first[p + 2] - 1``. The first
    # beliefs have the prescription -1 before them.
    first = np.searchsorted(dag.belief_links[0, order], np.arange(-1, len(flow)))
    plans = []
    while (remaining := float(flow[-1])) > LEAST:
        chosen, plan = [-1], np.zeros(len(flow))
        # ``chosen`` grows while it is read: each prescription adds the choices at the beliefs after
        # it.
        for before in chosen:
            for belief in after[first[before + 1] : first[before + 2]].tolist():
                begin, end = dag.prescriptions[belief : belief + 2].tolist()
                chosen.append(begin + int(flow[begin:end].argmax()))
        plan[chosen] = 1.0
        # The smallest positive share of the plan becomes 0, so that every round empties a share.
        shares = flow[chosen]
        probability = min(remaining, float(shares[shares > 0.0].min()))
        plans.append((probability, _policy_of_flow(game, dag, plan, uniform)))
        flow[chosen] = np.maximum(flow[chosen] - probability, 0.0)
    return plans


def _policy_of_flow(
    game: FlatGame, dag: BeliefDag, flow: np.ndarray, elsewhere: np.ndarray
) -> Policy:
    """Compute the members' own behaviour strategies from own reaches of the prescriptions.

    Args:
        game: The game.
        dag: Beliefs of the team.
        flow: float64 (prescriptions + 1,): own reaches of the prescriptions.
        elsewhere: float64 (sequences,): strategies of other players, and at infosets that the flow
            does not reach.
    """
    strategy = elsewhere.copy()
    n_actions = game.form.infoset_actions
    for belief, (begin, end) in enumerate(pairwise(dag.prescriptions.tolist())):
        if not flow[begin:end].any():
            continue
        infosets = dag.infosets_of(belief)
        shares = flow[begin:end].reshape(n_actions[infosets])
        for axis, infoset in enumerate(infosets.tolist()):
            # A prescription is one action per infoset of the belief: sum over the other infosets.
            others = tuple(other_axis for other_axis in range(shares.ndim) if other_axis != axis)
            strategy[game.sequences(infoset)] = shares.sum(axis=others) / shares.sum()
    return Policy(game, strategy)
