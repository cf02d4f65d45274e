"""DREAM with exact tables in place of its networks: what each kind of baseline is worth on Leduc.

python -m scripts.dream_tables           (a minute on one core)
python -m scripts.dream_tables --fits    (another one)

Every player plays 600 times in an iteration, with strategies that stay as they are; regrets are
summed up in a table with an entry for each infoset and action, weighted with the iteration, or in
one where the infosets that differ in suits share an entry, as they share features.  So there is no
error of a network, and what is left is the variance of the algorithm.  The baselines
are: none; one for each action of an infoset; one for each history, which knows all hands, as in
the DREAM paper; and the exact value of each history, the best that baselines can do.

Prints a table in Markdown: exploitability in milli-antes by nodes (decisions and terminals).

``--fits`` prints what a network leaves of it: DREAM with a table runs for 150 iterations, then
networks are trained on its samples.  The error is the root of the mean squared difference between
the network's advantages and the means of the samples, weighted as the samples are, as a share of
the root mean square of these means.
"""

from __future__ import annotations

import argparse
import statistics
from itertools import product
from typing import Any

import numba
import numpy as np

from tensorcfr import CompiledGame, Policy, compile_game
from tensorcfr.algorithms import DREAM
from tensorcfr.deep import DeepSolver
from tensorcfr.deep.buffers import filled
from tensorcfr.deep.features import make_features
from tensorcfr.deep.inputs import Inputs, make_inputs
from tensorcfr.deep.iterations import scale_for
from tensorcfr.deep.learners import NetworkLearner, TableLearner, probabilities
from tensorcfr.evaluation.metrics import evaluate_probabilities
from tensorcfr.kernels import evaluation
from tensorcfr.kernels.random import seeded
from tensorcfr.model.arrays import CHANCE, HistoryTree

PLAYS = 600
EPSILON = 0.5
STEP = 0.3
"""How far a baseline moves towards what was sampled."""
MARKS = (600_000, 1_000_000, 1_840_000, 3_500_000)
"""Nodes at which strategies are evaluated; the paper's figure has the last two."""
NONE, INFOSET, HISTORY, EXACT = range(4)
KINDS = {
    "none": NONE,
    "for each infoset": INFOSET,
    "for each history": HISTORY,
    "exact values of histories": EXACT,
}


@numba.njit
def play(  # type: ignore[no-untyped-def]
    tree, sequence, player, plays, sigma, weight, kind, baseline, regret, numbers
):
    """Play for a player; regrets and baselines are modified in place.

    Args:
        tree: player, first child, chance probability and infoset of each history, and its payoff
            for player 0.
        sequence: int64 (infosets, most actions): the sequence of each action.
        player: The player.
        plays: How often.
        sigma: float64 (sequences,): the strategies.
        weight: Weight of the iteration.
        kind: Of the baselines.
        baseline: float64: for player 0, by sequence or by history.
        regret: float64 (sequences,).
        numbers: float64: random, one for each step.

    Returns:
        Decisions and terminals visited.
    """
    actor, first, probability, infoset, payoff = tree
    sign, seen, drawn = 1.0 - 2.0 * player, 0, 0
    at, action = np.empty(64, np.int64), np.empty(64, np.int64)
    chance, reach = np.empty(64), np.empty(64)
    for _ in range(plays):
        node, depth, own = 0, 0, 1.0
        while first[node] < first[node + 1]:
            count = first[node + 1] - first[node]
            left, chosen, likely = numbers[drawn], 0, 1.0
            drawn += 1
            for a in range(count):
                if actor[node] == CHANCE:
                    likely = probability[first[node] + a]
                else:
                    likely = sigma[sequence[infoset[node], a]]
                    if actor[node] == player:
                        likely = EPSILON / count + (1.0 - EPSILON) * likely
                if likely > 0.0:
                    chosen = a
                    left -= likely
                    if left < 0.0:
                        break
            if actor[node] != CHANCE:
                at[depth], action[depth] = node, chosen
                chance[depth], reach[depth] = likely, own
                if actor[node] == player:
                    own *= likely
                depth += 1
            node = first[node] + chosen
        seen += depth + 1
        found = guess = sign * payoff[node]
        for d in range(depth - 1, -1, -1):
            node, count = at[d], first[at[d] + 1] - first[at[d]]
            value, before = 0.0, 0.0
            utility = np.zeros(count)
            for a in range(count):
                s = sequence[infoset[node], a]
                if kind == INFOSET:
                    utility[a] = sign * baseline[s]
                elif kind != NONE:
                    utility[a] = sign * baseline[first[node] + a]
                before += sigma[s] * utility[a]
            utility[action[d]] += (found - utility[action[d]]) / chance[d]
            for a in range(count):
                value += sigma[sequence[infoset[node], a]] * utility[a]
            if actor[node] == player:
                for a in range(count):
                    regret[sequence[infoset[node], a]] += weight * (utility[a] - value) / reach[d]
            if kind == INFOSET:
                s = sequence[infoset[node], action[d]]
                baseline[s] += STEP * (sign * guess - baseline[s])
            elif kind == HISTORY:
                child = first[node] + action[d]
                baseline[child] += STEP * (sign * guess - baseline[child])
            found, guess = value, before
    return seen


@numba.njit
def exact_values(tree, sequence, sigma, value):  # type: ignore[no-untyped-def]
    """The value of every history for player 0, float64 (histories,), in place."""
    actor, first, probability, infoset, payoff = tree
    for node in range(len(actor) - 1, -1, -1):
        value[node] = payoff[node]
        for a in range(first[node + 1] - first[node]):
            child = first[node] + a
            if actor[node] == CHANCE:
                value[node] += probability[child] * value[child]
            else:
                value[node] += sigma[sequence[infoset[node], a]] * value[child]


def arrays_of(tree: HistoryTree) -> tuple[np.ndarray, ...]:
    """What :func:`play` reads."""
    payoff = np.zeros(tree.n_nodes)
    payoff[tree.terminal] = tree.utility[:, 0]
    first = tree.first_child.astype(np.int64)
    infoset = tree.infoset.astype(np.int64)
    return tree.player.astype(np.int64), first, tree.probability, infoset, payoff


def curve(game: CompiledGame, inputs: Inputs, kind: int, seed: int, *, shared: bool) -> list[float]:
    """Exploitability at the marks, in milli-antes.

    Args:
        game: The game.
        inputs: Which infosets look alike.
        kind: Of the baselines.
        seed: Of the plays.
        shared: Whether infosets that look alike share regrets, as a network's do.
    """
    form, tree = game.form, arrays_of(game.tree)
    rng = np.random.default_rng(seed)
    sigma = np.array(Policy.uniform(game).probabilities)
    regret, total, reach = np.zeros((3, game.n_sequences))
    baseline = np.zeros(max(game.tree.n_nodes, game.n_sequences))
    found: list[float] = []
    nodes, iteration = 0, 0
    cell = inputs.row[:, None] * inputs.n_outputs + inputs.output
    is_action = inputs.sequence >= 0
    while len(found) < len(MARKS):
        iteration += 1
        for player in range(2):
            evaluation.realization_plan(form, sigma, reach)
            other = slice(*form.player_sequences[1 - player : 3 - player].tolist())
            total[other] += iteration * reach[other]
            if kind == EXACT:
                exact_values(tree, inputs.sequence, sigma, baseline)
            numbers = rng.random(PLAYS * 32)
            nodes += play(
                tree,
                inputs.sequence,
                player,
                PLAYS,
                sigma,
                float(iteration),
                kind,
                baseline,
                regret,
                numbers,
            )
            own = slice(*form.player_infosets[player : player + 2].tolist())
            known = regret[inputs.sequence]
            if shared:
                known = np.bincount(cell[is_action], weights=known[is_action])[cell]
            played = probabilities(known, inputs.is_action, "best")
            sigma[inputs.sequence[own][is_action[own]]] = played[own][is_action[own]]
        if nodes >= MARKS[len(found)]:
            average = np.empty(game.n_sequences)
            evaluation.normalise(form, total, average)
            found.append(1000.0 * evaluate_probabilities(game, average).exploitability)
    return found


FITS: dict[str, dict[str, Any]] = {
    "750 updates": {},
    "1,500 updates": {"updates": 1500},
    "3,000 updates, as in the paper": {"updates": 3000},
    "6,000 updates": {"updates": 6000},
    "learning rate 0.003": {"learning_rate": 3e-3},
    "learning rate 0.01": {"learning_rate": 1e-2},
    "3,000 updates, learning rate 0.003": {"updates": 3000, "learning_rate": 3e-3},
    "two layers of 256": {"layers": (256, 256)},
    "last layer not normalised": {"normalise": False},
    "utilities scaled to 64": {"largest": 64.0},
    "gradients not clipped": {"clip": 1e9},
}
"""Networks that are trained on the same samples."""


def print_fits(game: CompiledGame, inputs: Inputs) -> None:
    """Print how far networks are from the samples that they are trained on."""
    solver = DeepSolver(game, DREAM(traversals=900, learner="table"), seed=0)
    solver.step(150)
    reservoirs = [samples.advantages for samples in solver._samples]
    print("| training | error of the fit |\n| --- | ---: |")
    for name, options in FITS.items():
        record, errors = DREAM(**options), []
        scale = scale_for(record, float(np.abs(game.utilities).max()) / game.unit)
        network, table = NetworkLearner(record, inputs, scale), TableLearner(record, inputs, scale)
        for player, seed in product(range(2), (1, 2)):
            held = reservoirs[player]
            fresh = np.zeros(network.size, np.float32)
            fitted = network.fit(held, player, fresh, record.updates, seeded(seed), name)
            wanted = table.predict(held, player, fitted)
            error = network.predict(held, player, fitted) - wanted
            weights = np.bincount(
                held.infoset[: filled(held)],
                weights=held.weight[: filled(held)],
                minlength=game.n_infosets,
            )
            squares = [(weights[:, None] * each**2).sum() for each in (error, wanted)]
            errors.append(np.sqrt(squares[0] / squares[1]))
        print(f"| {name} | {np.mean(errors):.0%} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fits", action="store_true", help="what networks leave of it")
    given = parser.parse_args()
    seeds = range(given.seeds)
    game = compile_game("leduc")
    inputs = make_inputs(game, make_features(game))
    if given.fits:
        print_fits(game, inputs)
        return
    print("| baselines | suits | " + " | ".join(f"{mark:,} nodes" for mark in MARKS) + " |")
    print("| --- | --- |" + " ---: |" * len(MARKS))
    for (name, kind), shared in product(KINDS.items(), (False, True)):
        found = np.array([curve(game, inputs, kind, seed, shared=shared) for seed in seeds])
        cells = [
            f"{statistics.fmean(each):.0f} ({min(each):.0f} to {max(each):.0f})"
            for each in found.T.tolist()
        ]
        suits = "shared" if shared else "apart"
        print(f"| {name} | {suits} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
