"""The exact equilibrium of a two-player zero-sum game, by one linear program.

The sequence form makes optimal play linear.  Own reaches ``x`` of player 0 satisfy ``E x = e``, and
own reaches ``y`` of player 1 satisfy ``F y = f``.  These equations give the empty sequence reach 1,
and make the reaches of an infoset's actions sum to the reach of the sequence that leads there.
With the payoff matrix ``A`` of player 0 their value is ``x' A y``.  Against a fixed ``x``, player
1's best response is a linear program over ``y``; its dual has one variable ``v`` per infoset of
player 1.  So

    maximise v[0]  over x >= 0 and v,  subject to  E x = e  and  F' v <= A' x

is player 0's optimum, and the dual variables of the last constraint are the optimal ``y``: one
program gives both strategies.

Sources: D. Koller, N. Megiddo, B. von Stengel, "Fast algorithms for finding randomized strategies
in game trees", STOC 1994; B. von Stengel, "Efficient computation of behavior strategies", Games and
Economic Behavior 14, 1996. Solver: HiGHS, through scipy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from .._util.extras import needs
from .._util.memory_budget import require
from ..kernels import evaluation as kernels
from ..model.arrays import SequenceForm
from ..model.compiled_game import CompiledGame
from ..model.flat_game import FlatGame
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..model.team_game import TeamGame
from ..payoff import count_entries, triples
from .metrics import Evaluation, evaluate_probabilities

DENSE_ROWS = 6.0
"""Payoff entries per sequence above which the interior point may be the faster method."""

DENSE_MATRIX = 0.01
"""Density of the payoff matrix above which the interior point is slower again."""

TOLERANCE = 1e-9
"""Largest violation of a constraint or a reduced cost, where the largest payoff entry is 1; HiGHS'
default is 1e-7."""

BYTES_PER_COEFFICIENT = 500
"""Bytes that scipy's copies and HiGHS' factors take per nonzero of the program: 140 to 480 were
measured on liars_dice, leduc(ranks=7) and kuhn(cards=400)."""


class Equilibrium(NamedTuple):
    """Equilibrium that is exact to rounding."""

    policy: Policy
    """Strategies of both players."""
    evaluation: Evaluation
    """Values of the strategies and of best responses to them."""


def equilibrium(game: CompiledGame | TeamGame, *, memory_limit: int | None = None) -> Equilibrium:
    """Compute a Nash equilibrium of a two-player zero-sum or constant-sum game, exact to rounding.

    The strategies are not refined off the path.  At an infoset that is reached only after a
    mistake, any play that does not make the mistake pay is optimal.  The program returns one such
    play, which may be a poor response to the mistake itself.  Infosets that the player's own
    strategy avoids are uniform.

    The program has a row and a column per sequence and a coefficient per payoff entry; its time
    grows with a power of their number.  HiGHS runs without interruption: it reports no progress,
    and Ctrl-C takes effect when it ends.  Beyond some 100,000 sequences, use an iterative
    algorithm.

    Args:
        game: The game.
        memory_limit: Bytes that the program may take; by default the machine's free memory.

    Returns:
        Both players' strategies, and their evaluation by this library, whose exploitability checks
        the solution.

    Raises:
        ValueError: The game does not have two players, or its utilities do not have a constant sum.
        MemoryLimitError: The program would not fit; raised before it is built.
        MissingExtraError: scipy is not installed; names the command that installs it.
        RuntimeError: HiGHS did not reach the optimum; quotes its message.
    """
    game = game if game.links is not None else require_flat(game, "the linear program")
    check_zero_sum(game)
    require(bytes_needed(game), f"the linear program of {game.name}", memory_limit)
    probabilities = kernels.normalise(game.form, optimum(game).reach)
    policy = Policy(cast(FlatGame, game), probabilities)
    return Equilibrium(policy, evaluate_probabilities(game, probabilities))


def restricted_equilibrium(game: FlatGame, player: int, reaches: Any) -> Policy:
    """Compute an equilibrium in which one player may use only some strategies.

    The game has two players and a zero or constant sum.

    Args:
        game: The game.
        player: The restricted player.
        reaches: A scipy.sparse array (sequences of the player, sequences of the player): its
            product with the own reaches of any plan is an allowed plan.

    Returns:
        Both players' strategies.

    Raises:
        ValueError, MemoryLimitError, MissingExtraError, RuntimeError: As :func:`equilibrium`.
    """
    check_zero_sum(game)
    require(bytes_needed(game), f"the linear program of {game.name}")
    maps = [reaches if number == player else None for number in range(2)]
    return Policy(game, kernels.normalise(game.form, optimum(game, maps=maps).reach))


def bytes_needed(game: FlatGame | TeamGame) -> int:
    """Estimate the bytes of the linear program: its coefficients in HiGHS and in scipy's copies."""
    coefficients = count_entries(game.form, 0) + game.n_sequences + game.n_infosets
    coefficients += 0 if game.links is None else len(game.links.sequence)
    return BYTES_PER_COEFFICIENT * coefficients


def check_zero_sum(game: FlatGame | TeamGame) -> None:
    """Check that a game has two players and a constant sum.

    Raises:
        ValueError: It does not; the message says which guarantee would be lost.
    """
    if game.n_players != 2:
        raise ValueError(
            f"the linear program needs two players, and {game.name} has {game.n_players}: "
            "use an iterative algorithm, which does not guarantee an equilibrium there"
        )
    if not game.constant_sum:
        least, most = game.utility_sums
        raise ValueError(
            f"the linear program needs a zero-sum game, and the utilities of {game.name} sum to "
            f"{least:g} at one terminal and to {most:g} at another: use an iterative algorithm, "
            "which does not guarantee an equilibrium there"
        )


class Optimum(NamedTuple):
    """Optimum of the program and of its dual."""

    reach: np.ndarray
    """float64 (sequences,): own reaches of both players' sequences; with maps, after the maps."""
    slack: np.ndarray
    """float64 (sequences,): loss per unit of additional reach of each sequence, in shares of the
    largest payoff entry; 0 where the reach exceeds its lower bound.  With maps, of the variables of
    the program."""


def optimum(
    game: FlatGame | TeamGame,
    least: np.ndarray | None = None,
    maps: Sequence[Any | None] = (None, None),
) -> Optimum:
    """Solve the linear program for both players' own reaches with HiGHS.

    Args:
        game: The game.
        least: float64 (sequences,): lower bound of the own reach of every sequence, 0 for the empty
            sequences; only in a game without links and without maps.  None for 0.
        maps: For each player a sparse matrix that maps the variables of the program to own reaches,
            or None where the variables are the own reaches.

    Raises:
        MissingExtraError: scipy is not installed; names the command that installs it.
        RuntimeError: HiGHS did not reach the optimum; quotes its message.
    """
    sparse, optimize = needs("scipy.sparse", "lp"), needs("scipy.optimize", "lp")
    # A constant sum needs no special case: the opponent still minimises player 0's value.
    payoff = sparse.csc_array(payoff_matrix(game.form))
    # Entries hold chance probabilities and can be tiny; tolerances are absolute.
    payoff = payoff / (abs(payoff).max() or 1.0)
    constraints, opponent_constraints = (sequence_constraints(game, player) for player in (0, 1))
    first, second = maps
    if first is not None:
        constraints = sparse.csc_array(constraints @ first)
        payoff = sparse.csc_array(first.T @ payoff)
    if second is not None:
        opponent_constraints = sparse.csc_array(opponent_constraints @ second)
        payoff = sparse.csc_array(payoff @ second)
    sequences, values = constraints.shape[1], opponent_constraints.shape[0]
    # The variables are the own reaches minus their lower bounds, so that all bounds are 0; the
    # bounds' contributions move to the objective and the right-hand sides.
    least = np.zeros(sum(payoff.shape)) if least is None else least
    least_own, least_other = least[:sequences], least[sequences:]
    objective = -np.concatenate(
        [payoff @ least_other, np.eye(1, values)[0] - opponent_constraints @ least_other]
    )
    bounds = np.zeros((sequences + values, 2))
    bounds[:, 1] = np.inf
    bounds[sequences:, 0] = -np.inf
    result = optimize.linprog(
        objective,
        A_ub=sparse.hstack([-payoff.T, opponent_constraints.T], format="csc"),
        b_ub=payoff.T @ least_own,
        A_eq=sparse.hstack(
            [constraints, sparse.csc_array((constraints.shape[0], values))], format="csc"
        ),
        b_eq=np.eye(1, constraints.shape[0])[0] - constraints @ least_own,
        bounds=bounds,
        method=_method(game),
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
        },
    )
    if result.status != 0:
        raise RuntimeError(f"HiGHS found no optimum for {game.name}: {result.message}")
    # The dual variables are player 1's reaches.  scipy minimises, so its marginals have the
    # opposite sign.
    plans = np.concatenate([result.x[:sequences], -result.ineqlin.marginals]).clip(min=0.0) + least
    slack = np.concatenate([result.lower.marginals[:sequences], result.ineqlin.residual])
    reaches = (
        plan if reach_map is None else reach_map @ plan
        for reach_map, plan in zip(maps, (plans[:sequences], plans[sequences:]), strict=True)
    )
    return Optimum(np.concatenate(list(reaches)), slack)


def _method(game: FlatGame | TeamGame) -> str:
    """Choose HiGHS' dual simplex, or its interior point followed by crossover.

    Both end in a vertex whose exploitability is rounding (1e-15 measured), so only time counts.
    Simplex is quicker on most games.  Its iterations grow with the entries per sequence, while the
    interior point needs 20 to 50 in every game.  But a matrix with few zeros fills the factors of
    the interior point.  CPU seconds of single runs on a busy machine, simplex / interior point;
    compare only the ratios:

    | game | entries/sequence | density | seconds |
    | --- | --- | --- | --- |
    | leduc | 2.5 | 0.5 % | 0.08 / 0.09 |
    | liars_dice | 3.0 | 0.02 % | 1.4 / 5.2 |
    | goofspiel(cards=5) | 3.2 | 0.3 % | 0.06 / 0.09 |
    | bluff((2, 2), faces=4) | 5.0 | 0.02 % | 9.5 / 25 |
    | leduc(ranks=5) | 5.1 | 0.3 % | 0.8 / 0.5 |
    | leduc(ranks=7) | 7.7 | 0.2 % | 5.3 / 2.5 |
    | leduc(ranks=10) | 11.5 | 0.2 % | 76 / 16 |
    | kuhn(cards=400) | 249 | 31 % | 1.0 / 6.3 |

    In games of teams, whose constraints have many coefficients, the interior point took a third of
    the time (kuhn of three players and 5 or 6 cards).
    """
    form = game.form
    if game.links is not None:
        return "highs-ipm"
    entries = count_entries(form, 0)
    rows, columns = np.diff(form.player_sequences).tolist()
    if entries > DENSE_ROWS * (rows + columns) and entries < DENSE_MATRIX * rows * columns:
        return "highs-ipm"
    return "highs-ds"


def payoff_matrix(form: SequenceForm) -> Any:
    """Build player 0's payoff matrix, a scipy.sparse array (sequences of player 0, of player 1)."""
    from scipy import sparse

    row, column, value = triples(form, 0)
    shape = np.diff(form.player_sequences)
    return sparse.coo_array((value, (row, column[0] - shape[0])), shape=tuple(shape))


def sequence_constraints(game: FlatGame | TeamGame, player: int) -> Any:
    """Build the constraints ``E x = (1, 0, 0, ...)`` that make own reaches a realization plan.

    Returns:
        A scipy.sparse array, float64 (1 + infosets, sequences of the player). Row 0 is the empty
        sequence.  In the row of an infoset its actions have 1, and the sequences that lead to it
        have -1.
    """
    from scipy import sparse

    form = game.form
    first_infoset, last_infoset = form.player_infosets[player : player + 2]
    first_sequence, last_sequence = form.player_sequences[player : player + 2]
    infosets = last_infoset - first_infoset
    infoset = form.owners[0][first_sequence + 1 : last_sequence]
    if game.links is None:
        led_to = np.arange(infosets)
        parent = form.infoset_parent[first_infoset:last_infoset].astype(np.int64)
    else:
        first = game.links.first[first_infoset : last_infoset + 1]
        led_to = np.repeat(np.arange(infosets), np.diff(first))
        parent = game.links.sequence[first[0] : first[-1]]
    row = np.concatenate([[0], 1 + infoset - first_infoset, 1 + led_to])
    column = np.concatenate([[0], 1 + np.arange(len(infoset)), parent - first_sequence])
    value = np.repeat([1.0, -1.0], [1 + len(infoset), len(parent)])
    shape = (1 + infosets, last_sequence - first_sequence)
    return sparse.coo_array((value, (row, column)), shape=shape)
