"""Games of LiteEFG and noregret: equal to the built-in games that are written in their formats."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.equality import as_game, perturbed
from support.random_games import random_game
from support.reference import ChanceNode, DecisionNode, TerminalNode, Tree, build_tree
from tensorcfr import Solver, compile_game, evaluate
from tensorcfr.errors import FormatError
from tensorcfr.formats.liteefg import parse_liteefg
from tensorcfr.games import make_game

PROCESSES = "tree_form_sequential_decision_processes"
RULES: dict[str, Any] = {
    "kuhn": lambda: as_game(make_game("kuhn")),
    "leduc": lambda: perturbed("leduc(ranks=2)"),
    "random": lambda: random_game(7),
}


def liteefg_text(tree: Tree, *, lists_children: bool) -> str:
    """A tree as LiteEFG's readers take it; children of nodes are listed by name, or have the names
    of histories."""
    lines = ["# game instance with parameters:", "#", "# Opt {"]
    lines += ["#     openspiel,"] * lists_children
    lines += [f"#     {'players' if lists_children else 'num_players'}: {tree.n_players},", "# }"]
    infosets: dict[str, list[str]] = defaultdict(list)

    def write(node: Any, name: str) -> None:
        if isinstance(node, TerminalNode):
            paid = " ".join(f"{p}={u!r}" for p, u in enumerate(node.utilities, start=1))
            lines.append(f"node {name} leaf payoffs {paid}")
            return
        if isinstance(node, DecisionNode):
            infoset = node.infoset
            mover, kind = f"P{infoset.player + 1}", f"player {infoset.player + 1}"
            labels = [f"a{k}" for k in range(len(node.children))]
            infosets[infoset.label.replace(" ", "_")].append(name)
        else:
            mover, kind = "C", "chance"
            labels = [f"c{k}" for k in range(len(node.children))]
        names = [f"{name.rstrip('/')}/{mover}:{label}" for label in labels]
        words = names if lists_children else labels
        if isinstance(node, ChanceNode):
            words = [f"{w}={p!r}" for w, p in zip(words, node.probabilities, strict=True)]
        lines.append(f"node {name} {kind} actions {' '.join(words)}")
        for child, child_name in zip(node.children, names, strict=True):
            write(child, child_name)

    write(tree.root, "/")
    lines += [f"infoset {label} nodes {' '.join(nodes)}" for label, nodes in infosets.items()]
    return "\n".join(lines) + "\n"


def noregret_json(tree: Tree) -> dict[str, Any]:
    """A tree as noregret's readers take it: decision processes, and utilities of sequences."""
    processes: list[dict[Any, Any]] = [{}, {}]
    points: dict[Any, str] = {}
    utilities: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def edge_to(player: int, sequence: tuple[str, ...], event: str) -> tuple[str, ...]:
        """The edge of the observation point after a sequence, which is made if need be."""
        if (player, sequence) not in points:
            points[player, sequence] = f"o{len(points)}"
            node = {"id": points[player, sequence], "type": "OBSERVATION_POINT"}
            processes[player][sequence] = node
        return points[player, sequence], event

    def visit(node: Any, sequences: list[tuple[str, ...]], chance: float) -> None:
        if isinstance(node, TerminalNode):
            for player, utility in enumerate(node.utilities):
                utilities[tuple(sequences)][player] += chance * utility
            return
        if isinstance(node, ChanceNode):
            for child, p in zip(node.children, node.probabilities, strict=True):
                visit(child, sequences, chance * p)
            return
        player, label = node.infoset.player, node.infoset.label
        edge = edge_to(player, sequences[player], label)
        processes[player].setdefault(edge, {"id": label, "type": "DECISION_POINT"})
        for k, child in enumerate(node.children):
            after = list(sequences)
            after[player] = (label, str(k))
            visit(child, after, chance)

    visit(tree.root, [(), ()], 1.0)
    for player in range(2):
        for infoset in tree.infosets_of(player):
            for k in range(len(infoset.actions)):
                end = {"id": "", "type": "END_OF_THE_DECISION_PROCESS"}
                processes[player].setdefault((infoset.label, str(k)), end)
    return {
        "tree_form_sequential_decision_processes": [
            [{"parent_edge": edge, "node": node} for edge, node in process.items()]
            for process in processes
        ],
        "utilities": [{"sequences": pair, "values": values} for pair, values in utilities.items()],
    }


def assert_same_strategies(found: Any, tree: Tree, game: Any) -> None:
    """Ten iterations of CFR give the same strategies, action by action."""
    assert found.n_infosets == len(tree.infosets)
    one, other = Solver(found, "cfr"), Solver(game, "cfr")
    for mark in (1, 2, 3, 10):
        for solver in (one, other):
            solver.iterate(mark - solver.iteration)
        rows, expected = (solver.average_policy().to_dict() for solver in (one, other))
        for label in tree.infosets:
            name = next(n for n in (label, label.replace(" ", "_")) if n in rows)
            row = [rows[name][action] for action in sorted(rows[name])]  # "0", "1", or "a0", "a1".
            distance = np.subtract(row, list(expected[label].values()))
            assert np.abs(distance).max() <= 1e-12
    np.testing.assert_allclose(one.evaluate().values, other.evaluate().values, atol=1e-12)


@pytest.mark.parametrize("lists_children", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_files_of_liteefg(name: str, lists_children: bool, tmp_path: Path) -> None:
    tree = build_tree(RULES[name]())
    path = tmp_path / ("game.openspiel" if lists_children else "game.game")
    path.write_text(liteefg_text(tree, lists_children=lists_children))
    assert_same_strategies(compile_game(path), tree, compile_game(RULES[name]()))


@pytest.mark.parametrize("name", RULES)
def test_files_of_noregret(name: str, tmp_path: Path) -> None:
    tree, path = build_tree(RULES[name]()), tmp_path / "game.json"
    path.write_text(json.dumps(noregret_json(tree)))
    assert_same_strategies(compile_game(path), tree, compile_game(RULES[name]()))


class Serial:
    """A game with the attributes of those of noregret."""

    __module__ = "noregret.games"

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        kind = SimpleNamespace
        self.tree_form_sequential_decision_processes = []
        for process in raw["tree_form_sequential_decision_processes"]:
            edges = {tuple(entry["parent_edge"]): entry["node"]["id"] for entry in process}
            types = {e["node"]["id"]: kind(name=e["node"]["type"]) for e in process}
            decisions = [i for i, t in types.items() if t.name == "DECISION_POINT"]
            sequences = [(), *(edge for edge in edges if edge and edge[0] in decisions)]
            self.tree_form_sequential_decision_processes.append(
                kind(transitions=edges, node_types=types, sequences=sequences)
            )
        places = [p.sequences for p in self.tree_form_sequential_decision_processes]
        matrices = np.zeros((2, *map(len, places)))
        for entry in raw["utilities"]:
            row, column = (
                p.index(tuple(s)) for p, s in zip(places, entry["sequences"], strict=True)
            )
            matrices[:, row, column] = entry["values"]
        self.row_utilities, self.column_utilities = (
            kind(todense=matrix.copy) for matrix in matrices
        )


class SerialMatrix:
    """A game in normal form with the attributes of those of noregret."""

    __module__ = "noregret.games"
    actions = (("swerve", "straight"), ("SWERVE", "STRAIGHT"))
    utilities = np.array([[[0, 0], [-1, 1]], [[1, -1], [-1000, -1000]]])


def test_objects_and_matrices_of_noregret(tmp_path: Path) -> None:
    tree = build_tree(RULES["kuhn"]())
    game = compile_game(Serial(noregret_json(tree)))
    assert_same_strategies(game, tree, compile_game(RULES["kuhn"]()))
    chicken = compile_game(SerialMatrix())
    (tmp_path / "chicken.json").write_text(
        json.dumps({"actions": SerialMatrix.actions, "utilities": SerialMatrix.utilities.tolist()})
    )
    assert compile_game(tmp_path / "chicken.json").digest == chicken.digest
    assert chicken.utility_sums == (-2000.0, 0.0)
    crash = evaluate(chicken, {"P0": {"straight": 1}, "P1": {"STRAIGHT": 1}})
    assert crash.values == (-1000.0, -1000.0)


def test_labels_that_both_players_have_are_distinguished(tmp_path: Path) -> None:
    raw = noregret_json(build_tree(RULES["kuhn"]()))
    text = json.dumps(raw)
    for label in ("Jp", "J"):
        text = text.replace(f'"{label}"', '"here"')
    (tmp_path / "game.json").write_text(text)
    labels = set(compile_game(tmp_path / "game.json").infoset_labels)
    assert {"P0:here", "P1:here"} <= labels


def test_nodes_without_an_infoset_are_infosets() -> None:
    text = liteefg_text(build_tree(RULES["kuhn"]()), lists_children=False)
    kept = [line for line in text.splitlines() if not line.startswith("infoset Jpb ")]
    labels = set(compile_game(parse_liteefg("\n".join(kept))).infoset_labels)
    assert {"/C:c0/C:c0/P1:a0/P2:a1", "/C:c0/C:c1/P1:a0/P2:a1"} <= labels
    assert len(labels) == 13


def test_decisions_without_utilities_belong_to_the_game(tmp_path: Path) -> None:
    raw = noregret_json(build_tree(RULES["kuhn"]()))
    raw["utilities"] = [e for e in raw["utilities"] if list(e["sequences"][0])[:1] != ["J"]]
    (tmp_path / "game.json").write_text(json.dumps(raw))
    assert compile_game(tmp_path / "game.json").n_infosets == 12


HEAD = "# num_players: 2,\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there is no node"),
        ("node / leaf payoffs 1=1", 1, "number of players"),
        ("# players: many,", 1, "number of players must be"),
        (HEAD + "node / player 3 actions a b", 2, "players are 1 to 2, not '3'"),
        (HEAD + "node / leaf payoffs 1=one", 2, "'1=one' must be a name"),
        (HEAD + "node / chance actions a=0.5 b=0.4", 2, "sum to 0.9, not to 1"),
        (HEAD + "node / player 1 actions a", 2, "there is no node '/P1:a'"),
        (HEAD + "node / player 1 actions", 2, "has no actions"),
        (HEAD + "node / player 1 actions a a", 2, "same action twice"),
        (HEAD + "node / leaf payoffs 1=1\nnode / leaf payoffs 1=1", 3, "there twice"),
        (HEAD + "node / leaf payoffs 1=1\nnode /x leaf payoffs 1=1", 3, "not one tree"),
        (
            "# openspiel,\n" + HEAD + "node r leaf payoffs 1=1\nnode a player 1 actions b\n"
            "node b player 1 actions a",
            4,
            "node 'a' is not reached from the root",
        ),
        (HEAD + "node / leaf payoffs 1=1 1=3", 2, "node '/' pays a player twice"),
        (HEAD + "node / leaf payoffs 1=1\ninfoset I nodes /", 3, "'/' is not a decision"),
        (HEAD + "node / leaf payoffs 1=1\ninfoset I", 3, "an infoset is"),
        (HEAD + "tree", 2, "a line begins with node or infoset"),
        (HEAD + "node / start", 2, "a node is 'chance actions'"),
        (
            HEAD + "node / player 1 actions a\nnode /P1:a player 2 actions b\n"
            "node /P1:a/P2:b leaf payoffs 1=1\ninfoset I nodes / /P1:a",
            5,
            "different players or actions",
        ),
        (
            HEAD + "node / player 1 actions a\nnode /P1:a leaf payoffs 1=1\n"
            "infoset I nodes /\ninfoset J nodes /",
            5,
            "in two infosets",
        ),
    ],
)
def test_refused_files_of_liteefg(text: str, line: int, message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        parse_liteefg(text)
    assert error.value.line == line


LATE = {"parent_edge": ["q", "a"], "node": {"id": "e", "type": "DECISION_POINT"}}
PROCESS = [{"parent_edge": [], "node": {"id": "d", "type": "DECISION_POINT"}}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"board": "AsKsQs"}', "read_spot_options"),
        ('{"actions": [["a"], ["b"]], "utilities": [[1, 2]]}', "do not match"),
        ('{"actions": [["a"], ["b"]], "utilities": "x"}', "do not match"),
        (json.dumps({PROCESSES: [PROCESS], "utilities": []}), "decision 'd' has the actions"),
        (json.dumps({PROCESSES: [[]], "utilities": []}), "1 decision processes, not 2"),
        (json.dumps({PROCESSES: [[], []], "utilities": []}), "there are no utilities"),
        (
            json.dumps({PROCESSES: [[], []], "utilities": [{"sequences": [[], ["d", "a"]]}]}),
            r"there is no sequence \['d', 'a'\]",
        ),
        (
            json.dumps({PROCESSES: [[LATE], []], "utilities": []}),
            "node 'e' is not after its parent 'q'",
        ),
        (json.dumps({PROCESSES: [[{}], []], "utilities": []}), "no key 'parent_edge'"),
        (json.dumps({PROCESSES: 3, "utilities": []}), "not those of a game"),
    ],
)
def test_refused_files_of_noregret(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        compile_game(path)


def test_environments_of_liteefg() -> None:
    class FileEnv:
        __module__ = "LiteEFG._LiteEFG"

    with pytest.raises(TypeError, match="FileEnv of LiteEFG does not give out its tree"):
        compile_game(FileEnv())
