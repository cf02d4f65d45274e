"""The infosets of a solver, and of a state, as networks see them."""

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
from ..rules import Decision
from ..solvers.sources import CompiledInfosets, CompiledSource, GrowingSource, TableInfosets
from ..solvers.traversal import (
    BASELINE,
    TableLayout,
    bytes_of,
    history_traversal,
    public_traversal,
)
from ..uncompiled.game import UncompiledGame
from ..uncompiled.infosets import InfosetTable, make_room
from .buffers import bytes_of_buffers
from .features import RuleFeatures, make_features
from .inputs import Inputs, make_inputs
from .learners import OneInfoset, make_learner


class Shapes(NamedTuple):
    """What the arrays of a state must be."""

    arrays: dict[str, tuple[tuple[int, ...], type]]
    """Shape and dtype of arrays that only one source of infosets has."""
    sizes: tuple[int, int, int]
    """Numbers of a fit: of advantages, of baselines, and of those kept of all iterations."""
    kept: int
    """Iterations whose fits are kept."""
    width: int
    """The most actions of an infoset."""


class GameInfosets(CompiledSource):
    """All histories and infosets of a compiled game.

    Args:
        game: The game.
        record: The algorithm.
        arrays: Those of a state; None to begin.
        limit: Bytes that a solver may take.

    Raises:
        ValueError: There are no such features of the game.
        MemoryLimitError: The solver would take more.
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
        traversal = public_traversal if _has_public_walk(game, record) else history_traversal
        super().__init__(layout, traversal(game, layout))
        made = make_features(game, record.features) if arrays is None else arrays["features"]
        self.features: np.ndarray = made
        self.features.flags.writeable = False
        self.inputs = make_inputs(game, self.features)
        """As learners take them."""
        self.player: Any = game.infoset_player
        """Who acts, by infoset."""
        self.largest = float(np.abs(game.utilities).max(initial=0.0)) / game.unit
        """The largest utility so far; 0 where none was seen."""
        self.block = np.full(len(layout.numbers), -1, np.int32)
        """int32 (numbers of the table,): the infoset of each block, at the block's regrets."""
        block = layout.block
        self.block[block[block >= 0]] = np.flatnonzero(block >= 0)
        self.history_values = np.zeros(_history_baselines(game, record))
        """float64 (players, histories): the baselines of histories; (0, 0) without any."""

    @property
    def described(self) -> dict[str, np.ndarray]:  # type: ignore[override]  # noqa: D102
        return {"features": self.features}

    @staticmethod
    def shapes(infosets: CompiledInfosets, record: Deep, kept: Mapping[str, np.ndarray]) -> Shapes:
        """What the arrays of a state must be.

        Raises:
            ValueError: Features are not for this game and algorithm.
        """
        game, features = infosets.game, kept["features"]
        if features.ndim != 2 or len(features) != game.n_infosets:
            raise ValueError(
                f"features is {features.shape}; {game.name} has {game.n_infosets:,} infosets"
            )
        given = record.features
        if isinstance(given, Features) and Features(features).digest != given.digest:
            raise ValueError(f"features are not those that {record.name} names")
        inputs = make_inputs(game, features)
        size = make_learner(record, inputs, 1.0).size
        arrays: dict[str, tuple[tuple[int, ...], type]] = {
            **dict.fromkeys(("regret", "cumulative"), ((game.n_sequences,), np.float64)),
            "features": (features.shape, np.float32),
        }
        if record.has_history_baseline:
            arrays["history_values"] = _history_baselines(game, record), np.float64
        return Shapes(
            arrays,
            (size, size * record.has_baseline_network, size),
            len(kept["networks"]) if record.keep_networks else 0,
            inputs.sequence.shape[1],
        )


class RuleInfosets(GrowingSource):
    """The histories and infosets that traversals of rules come to, with features in arrays that
    grow with their table.

    Args:
        game: The game.
        record: The algorithm.
        arrays: Those of a state, by name; None to begin.
        infosets: How many of them to take, the first ones; None for all.
        entered: Called with these infosets and each new one.

    Raises:
        ValueError: There are no such features without a compiled game.
    """

    history_values = np.zeros((0, 0))
    """As :attr:`GameInfosets.history_values`."""

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
        """Makes features."""
        groups = BASELINE + game.n_players * record.has_baseline_network
        # Features have up to twice the room that they need, and networks get a copy.
        per_infoset = 3 * 4 * self.features_of.width + self.features_of.n_outputs
        beside = per_infoset + 4 * (HEADER + groups) + 16
        held = 0
        if arrays is None:
            table = InfosetTable(groups, beside=beside)
        else:
            held = len(arrays["player"]) if infosets is None else infosets
            first = {key: arrays[key][:held] for key in ("player", "own", "kind", "label_ends")}
            first["labels"] = arrays["labels"][: int(first["label_ends"][-1]) if held else 0]
            table = InfosetTable.of({**arrays, **first}, game.n_players, groups, beside=beside)
        told = None if entered is None else partial(entered, self)
        super().__init__(game, table, returns=record.scheme != "outcome", entered=told)
        self.features = np.zeros((64, self.features_of.width), np.float32)
        """float32 (room, width)."""
        self.output = np.full((64, 1), -1, np.int32)
        """int32 (room, most actions): the network's output of each action; -1 where there is
        none."""
        self.block = np.full(len(self.table.numbers), -1, np.int32)
        """As :attr:`GameInfosets.block`."""
        for row in range(held):
            assert arrays is not None
            output = arrays["output"][row]
            self.enter(row, arrays["features"][row], output[output >= 0])

    def enter(self, row: int, features: np.ndarray, output: np.ndarray) -> None:
        """Note an infoset that has just entered the table.

        Args:
            row: Its row.
            features: float32 (width,).
            output: int32 (actions,).
        """
        room, width = self.output.shape
        if row >= room or len(output) > width:
            # A power of two, so that few sizes are compiled.
            rows = max(room, 1 << row.bit_length())
            wider = np.full((rows, max(width, len(output))), -1, np.int32)
            wider[:room, :width] = self.output
            self.output = wider
            self.features.resize((len(wider), self.features_of.width), refcheck=False)
        self.features[row] = features
        self.output[row, : len(output)] = output
        held = len(self.block)
        if len(self.table.numbers) > held:
            make_room(self.block, len(self.table.numbers))
            self.block[held:] = -1
        self.block[self.table.block(row)] = row

    def at(self, row: int) -> OneInfoset:
        """An infoset alone."""
        first = self.table.first
        output = self.output[row, : first[row + 1] - first[row]]
        return OneInfoset(self.features[row], output, first[row])

    @property
    def player(self) -> np.ndarray:
        """As :attr:`GameInfosets.player`."""
        return np.array(self.table.player)

    @property
    def largest(self) -> float:
        """As :attr:`GameInfosets.largest`."""
        if self.tree is None:
            return 0.0
        return float(np.abs(self.arrays.utility).max(initial=0.0))

    @property
    def inputs(self) -> Inputs:
        """All infosets so far; rows are as many as there is room for, so that few sizes are
        compiled."""
        held, room = len(self.table), len(self.features)
        output = self.output[:held]
        is_action = output >= 0
        first = np.array(self.table.first[:-1], np.int64)
        sequence = np.where(is_action, first[:, None] + np.arange(output.shape[1]), -1)
        legal = np.zeros((room, self.features_of.n_outputs), bool)
        legal[np.nonzero(is_action)[0], output[is_action]] = True
        return Inputs(
            features=self.features,
            player_rows=None,
            row=np.arange(held, dtype=np.int32),
            output=np.where(is_action, output, 0),
            sequence=sequence,
            legal=legal,
        )

    @property
    def described(self) -> dict[str, np.ndarray]:  # noqa: D102
        held = len(self.table)
        own = {"features": self.features[:held].copy(), "output": self.output[:held].copy()}
        return {**own, **self.table.described}

    @staticmethod
    def shapes(infosets: TableInfosets, record: Deep, kept: Mapping[str, np.ndarray]) -> Shapes:
        """As :meth:`GameInfosets.shapes`."""
        game, sequences = infosets.game, infosets.n_sequences
        features = RuleFeatures(game, record.features)
        output, values = kept["output"], kept["advantage_values"]
        if output.ndim != 2 or values.ndim != 2:
            raise ValueError("output and advantage_values must be matrices")
        fits = [kept[name] for name in ("parameters", "baseline_parameters", "networks")]
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
                raise ValueError("output holds what no action has")
        baselines = game.n_players * record.has_baseline_network
        arrays: dict[str, tuple[tuple[int, ...], type]] = {
            "baseline": ((baselines, sequences), np.float64),
            "factor": ((1,), np.float64),
            "features": ((infosets.n_infosets, features.width), np.float32),
            "output": (shape, np.int32),
        }
        kept_fits = len(fits[2]) if keeps_networks(record) else 0
        return Shapes(arrays, (sizes[0], sizes[1], sizes[2]), kept_fits, values.shape[1])


def keeps_networks(record: Deep) -> bool:
    """Whether the fits of all iterations are kept on rules: the average strategy is made of them.
    On a compiled game it is made without."""
    return record.keep_networks or not record.has_strategy_network


def check_game(game: Any, record: Deep) -> None:
    """Make sure that an algorithm runs on a game.

    Raises:
        ValueError: It does not; says why.
    """
    if game.n_players == 1:
        raise ValueError(f"{record.name} samples opponents, and {game.name} has one player")
    if game.is_compiled:
        if record.keep_networks and game.n_players > 2:
            raise ValueError(
                f"{record.name}: keep_networks is for two players: of more, an iteration has "
                "several strategies of one"
            )
        return
    if record.has_history_baseline:
        raise ValueError(
            f"{record.name}: baselines of histories are a table over the histories of a compiled "
            f"game, and {game.name} is not compiled: baselines='infosets' makes them a network, "
            "baseline_updates=0 does without"
        )
    if keeps_networks(record) and game.n_players > 2:
        raise ValueError(
            f"{record.name} keeps the networks of all iterations on rules, which is for two "
            f"players, and {game.name} has {game.n_players}; deep-cfr does without"
        )


def _has_public_walk(game: FlatGame, record: Deep) -> bool:
    """Whether traversals go through the public tree, with hands drawn first."""
    return game.histories is None and not record.has_history_baseline


def _history_baselines(game: FlatGame, record: Deep) -> tuple[int, int]:
    """The shape of the baselines of histories."""
    return (game.n_players, game.n_histories) if record.has_history_baseline else (0, 0)


def bytes_needed(game: FlatGame, record: Deep) -> int:
    """Bytes that a solver takes in addition to the compiled game when its buffers are full:
    buffers, a copy of them, table and tree of the traversals."""
    width = int(game.form.bucket_actions.max(initial=1))
    layout = TableLayout(game, game.n_players, has_header=False)
    histories, players = _history_baselines(game, record)
    walked = bytes_of(layout, queue=False, public=_has_public_walk(game, record))
    walked += 2 * 8 * histories * players
    tables = game.n_players * 4 * layout.size
    dense = 5 * 8 * width * game.n_infosets
    return bytes_of_buffers(record, game.n_players, width) + walked + tables + dense
