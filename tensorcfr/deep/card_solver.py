"""Solver of Deep CFR on card games in chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..algorithms import Deep
from ..compilers.cards.card_public_nodes import CardNodes
from ..evaluation.metrics import Evaluation, evaluate
from ..kernels.random import Script
from ..model.compiled_game import CompiledGame
from ..model.function_policies import LazyPolicy
from ..model.game_arguments import require_flat
from ..model.policy import Policy
from ..model.public_nodes import NodeLayout, PublicNodes
from ..model.solvable_game import SolvableGame
from ..solvers.history_sources import NO_ARRAY
from ..solvers.problem import Problem
from ..solvers.state_file import Expected, check_arrays
from .buffers import restore_buffers
from .card_infosets import CardInfosets, CardInputs, CardLearner
from .deep_solver import EVERYTHING, DeepSolver
from .deep_state import DeepState
from .learners import Learner
from .network_policy import Fits


class CardDeepSolver(DeepSolver):
    """Solver with networks on a card game of two players in chunks.

    A player's traversals draw their hands and boards first.  Networks are then evaluated once, for
    the infosets of these deals.  No array covers all infosets, so the game may be as large as flop
    hold'em.  Policies compute their strategies part by part, when they are evaluated.
    """

    source: CardInfosets  # type: ignore[assignment]
    _advantages: CardLearner
    _averages: CardLearner

    @classmethod
    def _check_chunks(cls, game: CompiledGame, record: Deep) -> None:
        needs = {
            "outcome sampling": record.scheme != "external",
            "average='exact'": record.average != "network",
            "learner='table'": record.learner != "network",
            "features of your own, or of another kind than 'auto',": record.features != "auto",
            "keep_networks=True": record.keep_networks,
        }
        for option, is_chosen in needs.items():
            if is_chosen:
                require_flat(game, f"{record.name} with {option}")
        if not game.is_of_cards:
            require_flat(game, record.name)
        if game.n_players != 2:
            raise ValueError(
                f"{record.name} takes card games of two players, and {game.name} has "
                f"{game.n_players}"
            )

    def _make_source(self, arrays: Mapping[str, np.ndarray] | None) -> CardInfosets:
        return CardInfosets(self.game, self.algorithm, self.memory_limit)

    def _make_learner(self, *, softmax: bool) -> Learner:
        return CardLearner(self.algorithm, cast(Any, self._inputs), 1.0, softmax=softmax)

    def _has_choices(self, player: int) -> bool:
        return bool((self.source.inputs.player == player).any())

    def _sample(
        self, schedule: np.ndarray, player: int, generator: np.ndarray | Script | None = None
    ) -> None:
        generator = self._generator if generator is None else generator
        if len(schedule):
            self.source.draw(self._strategies, generator)
        super()._sample(schedule, player, generator)

    def _strategies(self, player: int, infosets: np.ndarray) -> np.ndarray:
        """Compute the current strategies of a player, float64 (infosets, most actions)."""
        parameters, unplayed = self._parameters[player], self.algorithm.unplayed
        return self._advantages.strategies(parameters, infosets, unplayed)

    def _play(self, player: int, predicted: np.ndarray) -> None:
        """Ignore the predictions: strategies are computed for drawn deals."""

    # ------------------------------------------------------------------- its state and policies

    @classmethod
    def restore(cls, problem: Problem, stored: Mapping[str, np.ndarray]) -> DeepState:  # noqa: D102
        game, algorithm = problem.game, problem.algorithm
        cls._check_chunks(game, algorithm)
        inputs, players = CardInputs(game.nodes), game.n_players
        size = CardLearner(algorithm, cast(Any, inputs), 1.0).size
        expected: Expected = {
            "parameters": ((players, size), np.float32),
            "baseline_parameters": ((0, 0), np.float32),
            "networks": ((0, players, size), np.float32),
            "touched": ((2,), np.int64),
            "generator": ((4,), np.uint64),
            "training_generator": ((4,), np.uint64),
        }
        check_arrays(stored, expected, f"{game.name} and {algorithm.name}")
        arrays = {name: np.ascontiguousarray(stored[name]) for name in expected}
        arrays |= restore_buffers(
            stored, algorithm, players, (inputs.n_infosets, inputs.most_actions)
        )
        return DeepState(strategy=NO_ARRAY, features=NO_ARRAY, **arrays)

    @classmethod
    def wrong_state(cls, problem: Problem, state: Any) -> str | None:  # noqa: D102
        return None  # Any parameters are a network.

    @classmethod
    def policy_is_in_state(cls, game: SolvableGame) -> bool:
        """Return True."""
        return True

    @classmethod
    def policy_of(cls, problem: Problem, state: Any) -> Policy:
        """Make the average policy of a state; its network is trained when it is first read."""
        game, algorithm = problem.game, problem.algorithm

        def trained() -> Sequence[Fits]:
            return cls(game, algorithm, state=state, memory_limit=EVERYTHING)._average_fits()

        return _network_policy(game, algorithm, trained, "uniform", softmax=True)

    @classmethod
    def last_policy_of(cls, problem: Problem, state: Any) -> Policy:  # noqa: D102
        fits = [Fits(parameters[None], np.ones(1)) for parameters in state.parameters]
        game, algorithm = problem.game, problem.algorithm
        return _network_policy(game, algorithm, lambda: fits, algorithm.unplayed, softmax=False)

    def current_policy(self) -> Policy:  # noqa: D102
        return self.last_policy_of(self.problem, self.state)

    def average_policy(self) -> Policy:
        """Return the average strategy; its network is trained when it is first read."""
        if self._cached_average is None or self._cached_average[0] != self.iteration:
            self._cached_average = self.iteration, self.policy_of(self.problem, self.state)
        return self._cached_average[1]

    def evaluate(self) -> Evaluation:
        """Compute values and best-response values of the average strategy, chunk by chunk."""
        return evaluate(self.game, self.average_policy())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return evaluate(self.game, self.current_policy())

    def evaluate_exact_average(self) -> Evaluation:
        """Raise an error, because exact averages need an array over all infosets.

        Raises:
            CutError: Always.
        """
        require_flat(self.game, "an exact average of networks")
        raise AssertionError


def _network_policy(
    game: CompiledGame,
    record: Deep,
    fits: Callable[[], Sequence[Fits]],
    unplayed: str,
    *,
    softmax: bool,
) -> Policy:
    """Make the policy of a network for each player.

    Args:
        game: The card game.
        record: The algorithm.
        fits: Function that returns a fit of each player; called on first use.
        unplayed: See :attr:`tensorcfr.algorithms.Deep.unplayed`.
        softmax: True if the outputs of the networks are probabilities.
    """
    ready: list[tuple[CardLearner, list[np.ndarray]]] = []

    def learner_and_parameters() -> tuple[CardLearner, list[np.ndarray]]:
        if not ready:
            inputs = CardInputs(cast(CardNodes, game.nodes))
            learner = CardLearner(record, cast(Any, inputs), 1.0, softmax=softmax)
            # A player without samples plays all actions equally.
            none = np.zeros((1, learner.size), np.float32)
            ready.append((learner, [np.append(fit.fitted, none)[: learner.size] for fit in fits()]))
        return ready[0]

    def ask(nodes: PublicNodes, node: int, layout: NodeLayout, hands: np.ndarray) -> np.ndarray:
        if len(layout.actions) == 1:
            return np.ones((len(hands), 1))
        learner, parameters = learner_and_parameters()
        inputs, cards = learner.inputs, cast(CardNodes, nodes)
        betting_node, board = cards.at(node)
        index = int(np.searchsorted(inputs.decision, betting_node))
        solved = cards.symmetry.rounds[int(inputs.round[index])].of_board[board]
        # Hands of one class have one infoset.
        lanes, inverse = np.unique(layout.lane[hands], return_inverse=True)
        infosets = inputs.infosets(index, solved, lanes)
        played = learner.strategies(parameters[layout.player], infosets, unplayed)
        return played[inverse][:, : len(layout.actions)]

    return LazyPolicy(game, ask, symmetric=True)
