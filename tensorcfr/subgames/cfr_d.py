"""The solver of CFR-D: the trunk is kept, its subgames are solved one at a time and forgotten.

Source: N. Burch, M. Johanson, M. Bowling, "Solving imperfect information games using
decomposition", AAAI 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from .._util.arguments import Kind, Limit, checked
from .._util.memory import free_memory
from ..algorithms import Decomposition
from ..compilers import compile_game
from ..errors import MemoryLimitError
from ..evaluation.metrics import Evaluation, evaluate_probabilities
from ..invariants.strategies import wrong_state
from ..kernels import evaluation
from ..kernels import iteration as kernels
from ..kernels.locks import impose
from ..kernels.regrets import add_regrets
from ..model.arguments import Compiled
from ..model.arrays import FREE
from ..model.game import CompiledGame
from ..model.locks import Locks, locked_lanes
from ..model.policy import Policy
from ..rules import Chance, Decision, Payoff
from ..solvers import kinds
from ..solvers.arguments import Iterations, Named
from ..solvers.base import IterativeSolver
from ..solvers.driver import solve
from ..solvers.kept import check_arrays
from ..solvers.solver import bytes_needed, first_state
from .blueprints import entry_sequences
from .gadgets import resolve_gadget
from .part import Left, Part, check_constant_sum, put_back
from .places import PLAYERS, PublicNodes, find_nodes, subgame_roots

LEAST_RANGE = 1e-12
"""Range of a hand in a subgame, at least.  Hands that the trunk does not bring need counterfactual
values, too: those of the strategy that they would play."""


class DecomposedState(NamedTuple):
    """What CFR-D carries from one iteration to the next; float64 (sequences of the trunk,) unless
    said."""

    regret: np.ndarray
    """As in :class:`tensorcfr.kernels.iteration.State`, like the next three."""
    strategy: np.ndarray
    reach: np.ndarray
    cumulative: np.ndarray
    root_values: np.ndarray
    """float64 (players, subgames, most hands): sum over iterations of averaging weight times
    counterfactual value at the root of each subgame, by hand; in the unit of the game."""
    touched: np.ndarray
    """int64 (2,): histories visited, and decision nodes among them."""


class Trunk(Part):
    """The game above some public nodes, as rules; nothing is paid at them.

    Args:
        roots: The public nodes.
    """

    def __init__(self, roots: PublicNodes) -> None:
        top = PublicNodes(roots.game, (0,), roots.places)
        super().__init__(top, top.chance(0)[None])
        self.below = set(roots.nodes)

    @property
    def name(self) -> str:
        """The whole game."""
        return f"trunk of {self.nodes.game.name}"

    def node(self, state: Any) -> Decision | Chance | Payoff:
        """A node of the whole game's public tree, or the end of the trunk."""
        return Payoff(0.0, "nothing") if state in self.below else super().node(state)

    def matrix(self, key: Any) -> np.ndarray:
        """A matrix of the whole game, or 0."""
        return np.zeros((2, *self.prior.shape)) if key == "nothing" else super().matrix(key)


class Ranged(Part):
    """A subgame that both players enter with a probability that locks give: their range.

    The value of entering with a hand is then its counterfactual value, and other ranges need no
    other compiled game.

    Args:
        root: One public node.
    """

    def __init__(self, root: PublicNodes) -> None:
        nobody = {player: np.zeros((1, root.n_hands[player])) for player in PLAYERS}
        super().__init__(root, root.chance(root.nodes[0])[None], nobody)

    def matrix(self, key: Any) -> np.ndarray:
        """A matrix of the whole game; 0 where a player does not enter."""
        return np.zeros((2, *self.prior.shape)) if isinstance(key, Left) else super().matrix(key)


class RangedSubgame:
    """A compiled subgame whose ranges change.

    Args:
        root: One public node.
    """

    def __init__(self, root: PublicNodes) -> None:
        rules = Ranged(root)
        self.root = root
        self.game = compile_game(rules)
        self.scale = rules.scale * self.game.unit
        """Factor from values in the arrays to counterfactual values in the unit of the game."""
        self.entries = [entry_sequences(self.game, root, player)[0] for player in PLAYERS]
        self._leave = [
            own + self.game.infoset_stride[[self.infoset_of(at) for at in own.tolist()]]
            for own in self.entries
        ]
        locked = np.full(self.game.n_sequences, FREE)
        for own, leave in zip(self.entries, self._leave, strict=True):
            dealt = own >= 0
            locked[own[dealt]], locked[leave[dealt]] = own[dealt], leave[dealt]
        # Numbers of the sequences in place of their probabilities say which lock is which.
        self._locked = locked_lanes(self.game.form, locked)
        self._locked_sequence = self._locked.probability.astype(np.int64)

    def infoset_of(self, sequence: int) -> int:
        """The infoset of an entry's first sequence; 0 for -1, which stands for none."""
        return int(np.argmax(self.game.infoset_sequence == sequence))

    def solve(self, record: Decomposition, ranges: list[np.ndarray]) -> np.ndarray:
        """The average strategies after some iterations from given ranges.

        Args:
            record: The algorithm.
            ranges: For each player float64 (hands,).

        Returns:
            float64 (sequences of the subgame,).
        """
        form, inner = self.game.form, record.inner
        probabilities = np.zeros(form.n_sequences)
        for player in PLAYERS:
            dealt = self.entries[player] >= 0
            follow = self.entries[player][dealt]
            probabilities[follow] = np.clip(ranges[player][dealt], LEAST_RANGE, 1.0)
            probabilities[self._leave[player][dealt]] = 1.0 - probabilities[follow]
        self._locked.probability[:] = probabilities[self._locked_sequence]
        state = first_state(form, inner.rule, np.dtype(np.float64), self._locked)
        turns = kernels.turns(2, inner.alternating)
        done = 1
        for restarts, count in inner.runs(1, record.subgame_iterations):
            if restarts:
                state.cumulative[:] = 0.0
            kernels.iterate(
                form,
                inner.rule,
                inner.schedule(done, count),
                turns,
                state,
                inner.floors(done, count),
                None,
                self._locked,
            )
            done += count
        evaluation.normalise(form, state.cumulative, state.strategy)
        impose(form, self._locked, state.strategy)
        return state.strategy

    def values(self, strategy: np.ndarray, player: int) -> np.ndarray:
        """Counterfactual values of a player's hands at the root, float64 (hands,); 0 for hands that
        cannot be dealt."""
        form = self.game.form
        reach, value, gradient, regret = np.zeros((4, form.n_sequences))
        evaluation.realization_plan(form, strategy, reach)
        add_regrets(form, player, strategy, reach, value, gradient, regret, None)
        at = self.entries[player]
        return np.where(at >= 0, value[at], 0.0) * self.scale


class Pieces:
    """A game cut into a trunk and subgames, each of them compiled.

    Args:
        game: A game of private hands between two players, zero-sum.
        cut: Where, as for :func:`tensorcfr.subgames.subgame_roots`.
    """

    def __init__(self, game: CompiledGame, cut: str | int | tuple[str, ...]) -> None:
        check_constant_sum(game)
        self.game = game
        self.roots = find_nodes(game, subgame_roots(game, cut))
        self.trunk = compile_game(Trunk(self.roots), symmetry=False)
        self.subgames = [RangedSubgame(one) for one in self.each_root]
        self.leaves = [
            np.array([self._last_sequences(node, player) for node in self.roots.nodes])
            for player in PLAYERS
        ]
        """For each player int64 (subgames, hands): the last sequence of the trunk before each
        subgame; -1 for hands that cannot be dealt there."""

    @property
    def each_root(self) -> list[PublicNodes]:
        """The roots of the subgames, one by one."""
        return [PublicNodes(self.game, (node,), self.roots.places) for node in self.roots.nodes]

    def _last_sequences(self, node: int, player: int) -> np.ndarray:
        dealt = self.roots.chance(node).sum(axis=1 - player) > 0
        empty = int(self.trunk.form.player_sequences[player])
        found = np.where(dealt, empty, -1)
        own = [p for p in self.roots.path(node) if self.roots.places.tree.player[p[0]] == player]
        if own:
            above, child = own[-1]
            held = self.roots.held(above)
            infosets = self.roots.places.places.infosets(np.full(len(held), above), held)
            action = child - int(self.roots.places.tree.first_child[above])
            for hand, infoset in zip(held.tolist(), infosets.tolist(), strict=True):
                label = self.game.infoset_labels[infoset]
                row = self.trunk.sequences(self.trunk.infoset_index[label])
                found[hand] = row.start + action * row.step if dealt[hand] else -1
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of the compiled trunk and subgames."""
        return self.trunk.nbytes + sum(one.game.nbytes for one in self.subgames)

    @property
    def most_hands(self) -> int:
        """Private hands of the player who has more."""
        return max(self.roots.n_hands)


@lru_cache(maxsize=1)
def pieces_of(game: CompiledGame, cut: str | int | tuple[str, ...]) -> Pieces:
    """The trunk and the subgames of a game; those asked for last are kept."""
    return Pieces(game, cut)


class DecomposedSolver(IterativeSolver):
    """The solver of :data:`tensorcfr.algorithms.CFR_D`.

    The average strategy is that of the trunk, with every subgame resolved from the average root
    values; it is worked out when it is asked for, which takes time.

    Args:
        game: The game.
        algorithm: A record, or its name.
        state: The state to continue from, after ``iteration`` iterations; copied.
        iteration: Iterations that led to ``state``.
        memory_limit: Bytes that the trunk and the subgames may take; by default the free memory.

    Raises:
        ValueError: The game has no public tree, is not zero-sum, or cannot be cut there.
        MemoryLimitError: The solver's arrays would not fit.
    """

    records = Decomposition

    @checked()
    def __init__(
        self,
        game: Compiled,
        algorithm: Named = "cfr-d",
        *,
        state: Annotated[
            DecomposedState | None, Kind((DecomposedState,), "a solver's state")
        ] = None,
        iteration: Iterations = 0,
        memory_limit: Limit = None,
    ) -> None:
        record = self._checked(game, algorithm)
        self.game, self.algorithm, self.iteration = game, record, iteration
        self.locks = Locks(game, {})
        self._pieces = pieces_of(game, record.cut)
        limit = free_memory() if memory_limit is None else memory_limit
        if (needed := decomposed_bytes(game, record)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, limit)
        if state is None:
            form, n = self._pieces.trunk.form, self._pieces.trunk.n_sequences
            strategy = np.array(Policy.uniform(self._pieces.trunk).probabilities)
            reach = np.empty(n)
            evaluation.realization_plan(form, strategy, reach)
            shape = (2, len(self._pieces.subgames), self._pieces.most_hands)
            self._state = DecomposedState(
                regret=np.zeros(n),
                strategy=strategy,
                reach=reach,
                cumulative=np.zeros(n),
                root_values=np.zeros(shape),
                touched=np.zeros(2, dtype=np.int64),
            )
        else:
            self._state = self.restore(game, record, self.kept(state))
        self._made: tuple[int, np.ndarray] | None = None

    def _run(self, iterations: int) -> None:
        record, first = self.algorithm, self.iteration + 1
        schedule = record.variant.schedule(first, iterations)
        floors = record.variant.floors(first, iterations)
        for row, floor in zip(schedule, floors, strict=True):
            self._iterate(row, float(floor))
            self.iteration += 1

    def _iterate(self, row: np.ndarray, floor: float) -> None:
        """One iteration: the subgames, from the ranges of the trunk, then the trunk; for each
        player in turn if they alternate."""
        pieces, state, record = self._pieces, self._state, self.algorithm
        form = pieces.trunk.form
        hands = form.hand_rank.shape[1] - 1
        value = np.zeros(form.n_sequences)
        whole = kernels.State(
            *state[:4], memory=np.zeros((0, len(value))), value=value, forecast=np.zeros(0)
        )
        turns = [[player] for player in PLAYERS] if record.variant.alternating else [PLAYERS]
        for nth, movers in enumerate(turns):
            # Average values belong to the strategies that enter the average: those before updates.
            value[:] = self._solve_subgames(row[0] if nth == 0 else 0.0)
            for player in movers:
                kernels.multiply_share(form.operator, form, player, 0, 1, state.reach, value)
            for player in movers:
                kernels.update(form, player, 0, hands, record.variant.rule, row, floor, whole, None)
        state.touched[:] += 2 * np.array([pieces.trunk.n_histories, pieces.trunk.n_decision_nodes])

    def _solve_subgames(self, weight: float) -> np.ndarray:
        """Solve every subgame from the ranges of the trunk.

        Args:
            weight: With which the values at the roots enter their average.

        Returns:
            float64 (sequences of the trunk,): counterfactual values of the subgames at the last
            sequences before them, in the unit of the trunk's arrays.
        """
        pieces, state, record = self._pieces, self._state, self.algorithm
        found = np.zeros(pieces.trunk.n_sequences)
        for index, part in enumerate(pieces.subgames):
            strategy = part.solve(record, self._ranges(state.reach, index))
            for player in PLAYERS:
                values = part.values(strategy, player)
                leaves = pieces.leaves[player][index]
                dealt = leaves >= 0
                np.add.at(found, leaves[dealt], values[dealt] / pieces.trunk.unit)
                state.root_values[player, index, : len(values)] += weight * values
            passes = 2 * record.subgame_iterations
            state.touched[:] += passes * np.array(
                [part.game.n_histories, part.game.n_decision_nodes]
            )
        return found

    def _ranges(self, reach: np.ndarray, index: int) -> list[np.ndarray]:
        """For each player float64 (hands,): own reach at the root of a subgame."""
        leaves = [self._pieces.leaves[player][index] for player in PLAYERS]
        return [np.where(own >= 0, reach[own], 0.0) for own in leaves]

    def _restart_average(self) -> None:
        self._state.cumulative[:] = 0.0
        self._state.root_values[:] = 0.0

    @property
    def state(self) -> DecomposedState:  # noqa: D102
        return self._state

    @classmethod
    def restore(  # noqa: D102
        cls,
        game: CompiledGame,
        algorithm: Any,
        kept: Mapping[str, np.ndarray],
        locks: Locks | None = None,
    ) -> DecomposedState:
        pieces = pieces_of(game, algorithm.cut)
        sequences = (pieces.trunk.n_sequences,)
        expected: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(DecomposedState._fields, (sequences, np.float64)),
            "root_values": ((2, len(pieces.subgames), pieces.most_hands), np.float64),
            "touched": ((2,), np.int64),
        }
        check_arrays(kept, expected, f"{game.name} and {algorithm.name}")
        return DecomposedState(**{name: np.array(kept[name], order="C") for name in expected})

    @classmethod
    def wrong_state(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> str | None:
        return wrong_state(pieces_of(game, algorithm.cut).trunk.form, state)

    @classmethod
    def whole_regrets(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        raise ValueError(f"{algorithm.name} keeps regrets of the trunk alone")

    @classmethod
    def last_probabilities(  # noqa: D102
        cls, game: CompiledGame, algorithm: Any, state: Any, locks: Locks | None = None
    ) -> np.ndarray:
        solver = cls(game, algorithm, state=state)
        policy = _into_whole(solver._pieces, state.strategy)
        for index, part in enumerate(solver._pieces.subgames):
            found = part.solve(algorithm, solver._ranges(state.reach, index))
            policy = put_back(policy, Policy(part.game, found))
        return policy.probabilities

    @classmethod
    def count_nodes(cls, game: CompiledGame, state: Any, iterations: int) -> tuple[int, int]:
        """Those of the trunk and of the subgames, whenever they were solved."""
        return int(state.touched[0]), int(state.touched[1])

    def average_probabilities(self) -> np.ndarray:  # noqa: D102
        if self._made is None or self._made[0] != self.iteration:
            self._made = self.iteration, self._resolved()
        return self._made[1].copy()

    def _resolved(self) -> np.ndarray:
        """The average strategy of the trunk, and below it resolving from the average values."""
        pieces, state, record = self._pieces, self._state, self.algorithm
        form = pieces.trunk.form
        strategy, reach = np.empty((2, form.n_sequences))
        evaluation.normalise(form, state.cumulative, strategy)
        evaluation.realization_plan(form, strategy, reach)
        policy = _into_whole(pieces, strategy)
        total = state.cumulative[0]
        for index, root in enumerate(pieces.each_root):
            chance, ranges = root.chance(root.nodes[0]), self._ranges(reach, index)
            for player in PLAYERS:
                opponent = 1 - player
                own = ranges[player]
                weights = chance * (own[:, None] if player == 0 else own)
                if not total > 0 or not weights.sum() > 0:
                    continue
                reached = weights.sum(axis=1 - opponent)
                values = state.root_values[opponent, index, : len(reached)] / total
                alternative = np.divide(
                    values, reached, out=np.zeros_like(values), where=reached > 0
                )
                gadget = resolve_gadget(root, weights[None], opponent, alternative[None])
                found = solve(gadget, record.inner, iters=record.resolve_iterations, checkpoints=())
                policy = put_back(policy, found.policy, player=player)
        return policy.probabilities

    def evaluate(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self.average_probabilities())

    def evaluate_current(self) -> Evaluation:  # noqa: D102
        return evaluate_probabilities(self.game, self.current_policy().probabilities)


def _into_whole(pieces: Pieces, strategy: np.ndarray) -> Policy:
    """A policy of the whole game that is uniform below the trunk."""
    return put_back(Policy.uniform(pieces.game), Policy(pieces.trunk, strategy.copy()))


def decomposed_bytes(game: CompiledGame, record: Decomposition) -> int:
    """Bytes that CFR-D takes in addition to the compiled game: the trunk and one subgame at a time,
    and the arrays of the compiled pieces."""
    pieces = pieces_of(game, record.cut)
    state = 6 * 8 * pieces.trunk.n_sequences + 16 * len(pieces.subgames) * pieces.most_hands
    inner = max(bytes_needed(one.game, record.inner) for one in pieces.subgames)
    return state + inner + pieces.nbytes


kinds.SOLVERS.append(DecomposedSolver)
