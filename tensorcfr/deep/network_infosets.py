"""Infosets of a solver and of a state, in the form that networks take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..algorithms import Deep
from ..algorithms.deep import Features
from ..errors import MemoryLimitError
from ..kernels.traversal import HEADER
from ..model.flat_game import FlatGame
from ..model.layout import Layout
from ..model.solvable_game import SolvableGame
from ..rules import Decision
from ..solvers.history_sources import CompiledInfosets, CompiledSource, GrowingSource, TableInfosets
from ..solvers.traversal import (
    BASELINE,
    TableLayout,
    bytes_of,
    history_traversal,
    public_traversal,
)
from ..uncompiled.infoset_table import InfosetTable, make_room
from ..uncompiled.uncompiled_game import UncompiledGame
from .buffers import bytes_of_buffers
from .features import RuleFeatures, make_features
from .inputs import Inputs, make_inputs
from .learners import OneInfoset, make_learner


class StateShapes(NamedTuple):
    """Expected shapes and dtypes of the arrays of a state."""

    arrays: dict[str, tuple[tuple[int, ...], type]]
    """Shape and dtype of the arrays that depend on the source of infosets."""
    sizes: tuple[int, int, int]
    """Sizes of a fit: of advantages, of baselines, and of the fits stored for all iterations."""
    stored_iterations: int
    """Number of iterations whose fits are stored."""
    width: int
    """Maximum number of actions of an infoset."""


class GameInfosets(CompiledSource):
    """Histories and infosets of a compiled game.

    Args:
        game: The game.
        record: The algorithm.
        arrays: Arrays of a state by name; None for a new solve.
        limit: Memory limit of the solver in bytes.

    Raises:
        ValueError: The game has no such features.
        MemoryLimitError: The solver would exceed the limit.
    """

    def __init__(
        self,
        game: FlatGame,
        record: Deep,
        arrays: Mapping[str, np.ndarray] | None,
        limit: float,
    ) -> None:
        if (needed := bytes_needed(game, record)) > limit:
            raise MemoryLimitError(f"solving {game.name}", needed, int(limit))
        layout = TableLayout(game, game.n_players, has_header=False)
        traversal = public_traversal if _uses_public_traversal(game, record) else history_traversal
        super().__init__(layout, traversal(game, layout))
        features = make_features(game, record.features) if arrays is None else arrays["features"]
        self.features: np.ndarray = features
        self.features.flags.writeable = False
        self.inputs = make_inputs(game, self.features)
        """Inputs of the learners."""
        self.player: Any = game.infoset_player
        """Acting player, by infoset."""
        self.largest = float(np.abs(game.utilities).max(initial=0.0)) / game.unit
        """Largest absolute utility so far; 0 if there is none."""
        self.block = np.full(len(layout.numbers), -1, np.int32)
        """int32 (numbers of the table,): infoset of each block, at the offset of its regrets; -1
        elsewhere."""
        block = layout.block
        self.block[block[block >= 0]] = np.flatnonzero(block >= 0)
        self.history_values = np.zeros(_history_baselines(game, record))
        """float64 (players, histories): baselines of histories; (0, 0) without them."""

    @property
    def described(self) -> dict[str, np.ndarray]:  # type: ignore[override]  # noqa: D102
        return {"features": self.features}

    @staticmethod
    def shapes(
        infosets: CompiledInfosets, record: Deep, stored: Mapping[str, np.ndarray]
    ) -> StateShapes:
        """Compute the expected shapes of a state's arrays.

        Raises:
            ValueError: The features are not for this game and algorithm.
        """
        game, features = infosets.game, stored["features"]
        if features.ndim != 2 or len(features) != game.n_infosets:
            raise ValueError(
                f"features is {features.shape}; {game.name} has {game.n_infosets:,} infosets"
            )
        option = record.features
        if isinstance(option, Features) and Features(features).digest != option.digest:
            raise ValueError(f"features differ from the features of {record.name}")
        inputs = make_inputs(game, features)
        size = make_learner(record, inputs, 1.0).size
        arrays: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(("regret", "cumulative"), ((game.n_sequences,), np.float64)),
            "features": (features.shape, np.float32),
        }
        if record.has_history_baseline:
            arrays["history_values"] = _history_baselines(game, record), np.float64
        return StateShapes(
            arrays,
            (size, size * record.has_baseline_network, size),
            len(stored["networks"]) if record.keep_networks else 0,
            inputs.sequence.shape[1],
        )


class RuleInfosets(GrowingSource):
    """Histories and infosets that traversals of the rules visit.  Features are stored in arrays
    that grow with the table of infosets.

    Args:
        game: The game.
        record: The algorithm.
        arrays: Arrays of a state by name; None for a new solve.
        infosets: Number of the state's infosets to take, from the first; None for all.
        entered: Called with this object and each new infoset.

    Raises:
        ValueError: Such features need a compiled game.
    """

    history_values = np.zeros((0, 0))
    """Empty; see :attr:`GameInfosets.history_values`."""

    def __init__(
        self,
        game: UncompiledGame,
        record: Deep,
        arrays: Mapping[str, Any] | None = None,
        infosets: int | None = None,
        *,
        entered: Callable[[RuleInfosets, int, Decision, object], None] | None = None,
    ) -> None:
        self.features_of = RuleFeatures(game, record.features)
        """Source of features for new infosets."""
        groups = BASELINE + game.n_players * record.has_baseline_network
        # Float32 features are stored three times at most: their array has up to twice the length
        # needed, and networks get a copy.
        per_infoset = 3 * 4 * self.features_of.width + self.features_of.n_outputs
        extra_bytes = per_infoset + 4 * (HEADER + groups) + 16
        count = 0
        if arrays is None:
            table = InfosetTable(groups, extra_bytes=extra_bytes)
        else:
            count = len(arrays["player"]) if infosets is None else infosets
            first = {key: arrays[key][:count] for key in ("player", "own", "kind", "label_ends")}
            first["labels"] = arrays["labels"][: int(first["label_ends"][-1]) if count else 0]
            table = InfosetTable.of(
                {**arrays, **first}, game.n_players, groups, extra_bytes=extra_bytes
            )
        callback = None if entered is None else partial(entered, self)
        super().__init__(game, table, returns=record.scheme != "outcome", entered=callback)
        self.features = np.zeros((64, self.features_of.width), np.float32)
        """float32 (capacity, width): features of each infoset."""
        self.output = np.full((64, 1), -1, np.int32)
        """int32 (capacity, most actions): network output of each action; -1 if there is no
        action."""
        self.block = np.full(len(self.table.numbers), -1, np.int32)
        """Infoset of each block; see :attr:`GameInfosets.block`."""
        for row in range(count):
            assert arrays is not None
            output = arrays["output"][row]
            self.enter(row, arrays["features"][row], output[output >= 0])

    def enter(self, row: int, features: np.ndarray, output: np.ndarray) -> None:
        """Store the features and outputs of an infoset that has just entered the table.

        Args:
            row: Row of the infoset.
            features: float32 (width,).
            output: int32 (actions,): network output of each action.
        """
        capacity, width = self.output.shape
        if row >= capacity or len(output) > width:
            # JAX compiles for each length, so use powers of two.
            rows = max(capacity, 1 << row.bit_length())
            wider = np.full((rows, max(width, len(output))), -1, np.int32)
            wider[:capacity, :width] = self.output
            self.output = wider
            self.features.resize((len(wider), self.features_of.width), refcheck=False)
        self.features[row] = features
        self.output[row, : len(output)] = output
        length = len(self.block)
        if len(self.table.numbers) > length:
            make_room(self.block, len(self.table.numbers))
            self.block[length:] = -1
        self.block[self.table.block(row)] = row

    def at(self, row: int) -> OneInfoset:
        """Return the input of learners for a single infoset."""
        first = self.table.first
        output = self.output[row, : first[row + 1] - first[row]]
        return OneInfoset(self.features[row], output, first[row])

    @property
    def player(self) -> np.ndarray:
        """Acting player, by infoset."""
        return np.array(self.table.player)

    @property
    def largest(self) -> float:
        """Largest absolute utility of the visited terminals; 0 if there is none."""
        if self.tree is None:
            return 0.0
        return float(np.abs(self.arrays.utility).max(initial=0.0))

    @property
    def inputs(self) -> Inputs:
        """Inputs of the learners for all infosets so far.  There are as many rows as the arrays
        have room for, so that JAX compiles for few sizes."""
        count, capacity = len(self.table), len(self.features)
        output = self.output[:count]
        is_action = output >= 0
        first = np.array(self.table.first[:-1], np.int64)
        sequence = np.where(is_action, first[:, None] + np.arange(output.shape[1]), -1)
        legal = np.zeros((capacity, self.features_of.n_outputs), bool)
        legal[np.nonzero(is_action)[0], output[is_action]] = True
        return Inputs(
            features=self.features,
            player_rows=None,
            row=np.arange(count, dtype=np.int32),
            output=np.where(is_action, output, 0),
            sequence=sequence,
            legal=legal,
        )

    @property
    def described(self) -> dict[str, np.ndarray]:  # noqa: D102
        count = len(self.table)
        arrays = {"features": self.features[:count].copy(), "output": self.output[:count].copy()}
        return {**arrays, **self.table.described}

    @staticmethod
    def shapes(
        infosets: TableInfosets, record: Deep, stored: Mapping[str, np.ndarray]
    ) -> StateShapes:
        """Compute the expected shapes of a state's arrays; see :meth:`GameInfosets.shapes`."""
        game, sequences = infosets.game, infosets.n_sequences
        features = RuleFeatures(game, record.features)
        output, values = stored["output"], stored["advantage_values"]
        if output.ndim != 2 or values.ndim != 2:
            raise ValueError("output and advantage_values must be matrices")
        fits = [stored[name] for name in ("parameters", "baseline_parameters", "networks")]
        sizes = [min(fit.shape[-1] if fit.ndim else 0, sequences) for fit in fits]
        if record.learner == "network":
            size = make_learner(record, RuleInfosets(game, record).inputs, 1.0).size
            sizes = [size if len(fit) else 0 for fit in fits]
        counts = np.diff(np.array(infosets.table.first, np.int64))
        is_action = np.arange(output.shape[1]) < counts[:, None]
        shape = (infosets.n_infosets, output.shape[1])
        if output.shape == shape and output.dtype == np.int32:
            wrong = (output >= 0) != is_action
            if wrong.any() or output.max(initial=-1) >= features.n_outputs:
                raise ValueError("output holds a number that no action has")
        baselines = game.n_players * record.has_baseline_network
        arrays: dict[str, tuple[tuple[int, ...], type]] = {
            "baseline": ((baselines, sequences), np.float64),
            "factor": ((1,), np.float64),
            "features": ((infosets.n_infosets, features.width), np.float32),
            "output": (shape, np.int32),
        }
        kept_fits = len(fits[2]) if keeps_networks(record) else 0
        return StateShapes(arrays, (sizes[0], sizes[1], sizes[2]), kept_fits, values.shape[1])


def keeps_networks(record: Deep) -> bool:
    """Return whether the fits of all iterations are stored on rules.

    An exact average strategy on rules is computed from them.  On a compiled game it is not.
    """
    return record.keep_networks or not record.has_strategy_network


def check_game(game: SolvableGame, record: Deep) -> None:
    """Check that an algorithm can run on a game.

    Raises:
        ValueError: The algorithm cannot run on the game; says why.
    """
    if game.n_players == 1:
        raise ValueError(f"{record.name} samples opponents, and {game.name} has one player")
    if game.layout != Layout.RULES:
        if record.keep_networks and game.n_players > 2:
            raise ValueError(f"{record.name}: keep_networks supports two players only")
        return
    if record.has_history_baseline:
        raise ValueError(
            f"{record.name}: baselines of histories are a table over the histories of a compiled "
            f"game, and {game.name} is not compiled: baselines='infosets' makes them a network, "
            "baseline_updates=0 does without"
        )
    if keeps_networks(record) and game.n_players > 2:
        raise ValueError(
            f"{record.name} stores the networks of all iterations, which on rules is "
            f"possible for two players only, and {game.name} has {game.n_players}; use "
            "deep-cfr"
        )


def _uses_public_traversal(game: FlatGame, record: Deep) -> bool:
    """Return whether traversals use the public tree, with hands drawn first."""
    return game.histories is None and not record.has_history_baseline


def _history_baselines(game: FlatGame, record: Deep) -> tuple[int, int]:
    """Return the shape of the history baselines, (players, histories) or (0, 0)."""
    return (game.n_players, game.n_histories) if record.has_history_baseline else (0, 0)


def bytes_needed(game: FlatGame, record: Deep) -> int:
    """Estimate the memory of a solver with full buffers, in addition to the compiled game.

    Returns:
        Bytes of buffers, a copy of them, and the table and tree of the traversals.
    """
    width = int(game.form.bucket_actions.max(initial=1))
    layout = TableLayout(game, game.n_players, has_header=False)
    histories, players = _history_baselines(game, record)
    traversal_bytes = bytes_of(layout, queue=False, public=_uses_public_traversal(game, record))
    traversal_bytes += 2 * 8 * histories * players
    tables = game.n_players * 4 * layout.size
    dense = 5 * 8 * width * game.n_infosets
    return bytes_of_buffers(record, game.n_players, width) + traversal_bytes + tables + dense
