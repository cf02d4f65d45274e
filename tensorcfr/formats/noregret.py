"""Reader of games of noregret (J. Kim, 2024): files in JSON, and objects of the package.

A game in normal form has actions and utilities.  A game in extensive form has a decision process
for each of two players, and utilities of pairs of their sequences, which include the probabilities
of chance.  Such a game has no histories, so :class:`SequencePairs` makes some: a pair of sequences
with utilities is drawn, and each player in turn chooses to follow their sequence, or leaves it.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError
from ..games.matrix import MatrixGame
from ..rules import Chance, Decision, Game, Terminal
from .gambit_text import decoded

PROCESSES, UTILITIES = "tree_form_sequential_decision_processes", "utilities"
DECISION, OBSERVATION, END = "DECISION_POINT", "OBSERVATION_POINT", "END_OF_THE_DECISION_PROCESS"
Step = tuple[str, str]
"""A decision and an action."""


class SequencePairs(Game):
    """Game of two players from the utilities of pairs of sequences.

    Args:
        title: Name of the game.
        actions: For each player the actions of each decision, by its label.
        steps: Player, decision and action of each step of a pair of sequences.  Every decision
            must be on a pair.
        utilities: Utilities of both players for each pair.
    """

    def __init__(
        self,
        title: str,
        actions: Sequence[Mapping[str, tuple[str, ...]]],
        steps: Sequence[Sequence[tuple[int, str, str]]],
        utilities: Sequence[tuple[float, float]],
    ) -> None:
        self.title, self.actions, self.steps = title, actions, steps
        # Each pair is drawn with the same probability.
        self.paid = [tuple(len(steps) * utility for utility in paid) for paid in utilities]

    @property
    def name(self) -> str:
        """Title of the game."""
        return self.title

    def root(self) -> tuple[int, int]:
        """Return the state before a pair is drawn."""
        return -1, 0

    def node(self, state: tuple[int, int]) -> Decision | Chance | Terminal:
        """Return the draw of a pair, the next decision of its sequences, or the utilities."""
        pair, taken = state
        if pair < 0:
            count = len(self.steps)
            return Chance(dict.fromkeys(range(count), 1.0 / count))
        if taken < 0:
            return Terminal((0.0, 0.0))
        if taken == len(self.steps[pair]):
            return Terminal(self.paid[pair])
        player, decision, _ = self.steps[pair][taken]
        return Decision(player, decision, self.actions[player][decision])

    def next(self, state: tuple[int, int], action: Hashable) -> tuple[int, int]:
        """Return the state after a draw or an action."""
        pair, taken = state
        if pair < 0:
            return int(str(action)), 0
        return pair, taken + 1 if action == self.steps[pair][taken][2] else -1


def read_noregret(path: str | Path) -> Game:
    """Read the game in a JSON file of noregret.

    Raises:
        FormatError: The file is not in the format; names the file.
        OSError: The file cannot be read.
    """
    path = Path(path)
    text = decoded(path.read_bytes(), path)
    try:
        raw = json.loads(text)
    except ValueError as error:
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        raise FormatError(str(path), line, column, "this is not JSON") from None
    except RecursionError:
        raise FormatError(str(path), 1, 1, "it is nested too deeply") from None
    if not isinstance(raw, Mapping) or UTILITIES not in raw:
        raise FormatError(
            str(path),
            1,
            1,
            "a game in JSON is one of noregret; spots of other programs are read "
            "by read_spot_options and 'tensorcfr spot'",
        )
    return _rules_of(raw, path.stem, str(path))


def rules_of_noregret(game: Any) -> Game:
    """Return the rules of a game of noregret.

    Raises:
        FormatError: The game is of a kind that has no serial form, or has no utilities.
    """
    title = type(game).__name__
    processes = getattr(game, PROCESSES, None)
    if processes is None:
        if not hasattr(game, "actions") or not hasattr(game, UTILITIES):
            raise FormatError(title, 1, 1, "games are in normal form or have decision processes")
        raw = {
            "actions": [list(player) for player in game.actions],
            UTILITIES: np.asarray(game.utilities).tolist(),
        }
        return _rules_of(raw, title, title)
    matrices = [np.asarray(m.todense()) for m in (game.row_utilities, game.column_utilities)]
    sequences = [list(process.sequences) for process in processes]
    nonzero = np.transpose(np.nonzero(np.any([m != 0.0 for m in matrices], axis=0)))
    raw = {
        PROCESSES: [
            [
                {"parent_edge": edge, "node": {"id": node, "type": process.node_types[node].name}}
                for edge, node in process.transitions.items()
            ]
            for process in processes
        ],
        UTILITIES: [
            {
                "sequences": [sequences[0][row], sequences[1][column]],
                "values": [float(matrix[row, column]) for matrix in matrices],
            }
            for row, column in nonzero.tolist()
        ],
    }
    return _rules_of(raw, title, title)


def _rules_of(raw: Mapping[str, Any], title: str, source: str) -> Game:
    """Return the rules of a game in its serial form."""

    def fail(problem: str) -> FormatError:
        return FormatError(source, 1, 1, problem)

    if PROCESSES not in raw:
        try:
            payoffs = np.array(raw[UTILITIES], dtype=np.float64)
            actions = [[str(action) for action in player] for player in raw["actions"]]
            # The last axis is that of the players, which comes first in a MatrixGame.
            table = np.moveaxis(payoffs, -1, 0) if payoffs.ndim > len(actions) else payoffs
            return MatrixGame(table, actions=actions, title=title)
        except (KeyError, TypeError, ValueError) as error:
            raise fail(f"the actions and utilities do not match: {error}") from None
    try:
        processes = [_Process(process) for process in raw[PROCESSES]]
        if len(processes) != 2:
            raise ValueError(f"there are {len(processes)} decision processes, not 2")
        pairs: dict[tuple[tuple[Step, ...], tuple[Step, ...]], tuple[float, float]] = {}
        for entry in raw[UTILITIES]:
            both = zip(processes, entry["sequences"], strict=True)
            first, second = (process.steps_to(edge) for process, edge in both)
            utilities = entry["values"] if "values" in entry else (entry["value"], -entry["value"])
            row, column = map(float, utilities)
            if not np.isfinite((row, column)).all():
                raise ValueError(f"the utilities {utilities} are not finite")
            before = pairs.get((first, second), (0.0, 0.0))
            pairs[first, second] = before[0] + row, before[1] + column
    except KeyError as error:
        raise fail(f"the decision processes are not those of a game: no key {error}") from None
    except (TypeError, ValueError, IndexError) as error:
        raise fail(f"the decision processes are not those of a game: {error}") from None
    for player, process in enumerate(processes):
        # Decisions that no utility follows still belong to the game.
        known = {step for pair in pairs for step in pair[player]}
        for decision, labels in process.actions.items():
            if not any((decision, label) in known for label in labels):
                path = process.steps_to((decision, labels[0]))
                known.update(path)
                pairs[(path, ()) if player == 0 else ((), path)] = (0.0, 0.0)
    if not pairs:
        raise fail("there are no utilities")
    # Two players never share a label.
    shared = set(processes[0].actions) & set(processes[1].actions)
    prefixes = ("P0:", "P1:") if shared else ("", "")
    actions_of = [
        {prefix + decision: tuple(actions) for decision, actions in process.actions.items()}
        for prefix, process in zip(prefixes, processes, strict=True)
    ]
    steps_of_pairs = [
        [
            (player, prefixes[player] + decision, action)
            for player in range(2)
            for decision, action in pair[player]
        ]
        for pair in pairs
    ]
    return SequencePairs(title, actions_of, steps_of_pairs, list(pairs.values()))


class _Process:
    """Decision process of a player.

    Args:
        transitions: Edges and the nodes that they lead to, each after its parent.
    """

    def __init__(self, transitions: Iterable[Mapping[str, Any]]) -> None:
        self.actions: dict[str, list[str]] = {}
        """Actions of each decision."""
        self._steps: dict[tuple[str, ...], tuple[Step, ...]] = {(): ()}
        """Steps of the sequence of each edge from a decision."""
        before: dict[str, tuple[Step, ...]] = {}
        """Steps before each node."""
        for transition in transitions:
            edge = tuple(map(str, transition["parent_edge"]))
            node, kind = str(transition["node"]["id"]), transition["node"]["type"]
            if kind not in (DECISION, OBSERVATION, END):
                raise ValueError(f"node {node!r} has the type {kind!r}")
            steps: tuple[Step, ...] = ()
            if edge:
                parent, event = edge
                if parent not in before:
                    raise ValueError(f"node {node!r} is not after its parent {parent!r}")
                steps = before[parent]
                if parent in self.actions:
                    self.actions[parent].append(event)
                    steps = self._steps[edge] = (*steps, (parent, event))
            if kind != END:
                if node in before:
                    raise ValueError(f"node {node!r} is there twice")
                before[node] = steps
            if kind == DECISION:
                self.actions[node] = []
        for decision, actions in self.actions.items():
            if not actions or len(set(actions)) != len(actions):
                raise ValueError(f"decision {decision!r} has the actions {actions}")

    def steps_to(self, edge: Sequence[Any]) -> tuple[Step, ...]:
        """Return the steps of a sequence."""
        sequence = tuple(map(str, edge))
        if sequence not in self._steps:
            raise ValueError(f"there is no sequence {list(sequence)}")
        return self._steps[sequence]
