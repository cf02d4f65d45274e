"""What the viewer says about a node equals the values of the policy, over the histories."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from support.browsing import wait_for_solve
from support.card_games import LeducOfCards, RandomCards
from support.random_games import random_game, random_public_tree_game
from support.tiers import tiered
from tensorcfr import (
    Chance,
    CompiledGame,
    Decision,
    Payoff,
    Policy,
    PublicTreeGame,
    Solution,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.analysis import values
from tensorcfr.model.arrays import CHANCE
from tensorcfr.viewer import save_html
from tensorcfr.viewer import shown_nodes as module
from tensorcfr.viewer.page import PageSize, build_page
from tensorcfr.viewer.session import BusyError, Session, nodes_of
from tensorcfr.viewer.shown_nodes import HandNodes, InfosetNodes, plain

SOURCES: dict[str, Any] = {
    "kuhn": "kuhn",
    "leduc": "leduc(ranks=2)",
    "liars_dice": "liars_dice(faces=3)",
    **{f"random {seed}": random_public_tree_game(seed) for seed in range(4)},
}


def solved(source: Any) -> Solution:
    # After a few iterations all probabilities differ.
    return solve(compile_game(source), "cfr", iters=7)


def reaches(game: CompiledGame, policy: Policy) -> np.ndarray:
    """Probability of every history, history by history."""
    tree = game.tree
    reach = np.ones(tree.n_nodes)
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        if tree.player[parent] == CHANCE:
            step = tree.probability[node]
        else:
            at = game.sequences(int(tree.infoset[parent]))
            step = policy.probabilities[at][node - int(tree.first_child[parent])]
        reach[node] = reach[parent] * step
    return reach


def walk(session: Session, index: int = 0) -> list[dict[str, Any]]:
    """All nodes, from the root by the children's numbers."""
    left, found = [session.nodes.root], []
    while left:
        node = session.node(left.pop(), index)
        json.dumps(plain(node), allow_nan=False)
        found.append(node)
        left += [child["id"] for child in node["children"] if child["id"] is not None]
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_public_nodes(name: str) -> None:
    solution = solved(SOURCES[name])
    game, policy = solution.game, solution.policy
    session = Session(solution)
    assert isinstance(session.nodes, HandNodes)
    table = values(game, policy)
    tree, reach = game.tree, reaches(game, policy)
    by_infoset = np.bincount(
        tree.infoset[tree.infoset >= 0], reach[tree.infoset >= 0], game.n_infosets
    )
    found = walk(session)
    assert len(found) == game.public.tree.n_nodes  # type: ignore[union-attr]
    met = []
    utility = np.zeros(2)
    for node in found:
        chosen = {child["label"]: child["p"] for child in node["children"]}
        rows = node["hands"]
        for row in rows:
            infoset = game.infoset_index[row["infoset"]]
            met.append(infoset)
            at = game.sequences(infoset)
            np.testing.assert_array_equal(row["p"], policy.probabilities[at])
            assert row["reach"] == pytest.approx(by_infoset[infoset], abs=1e-14)
            assert row["loss"] == pytest.approx(table.loss[infoset], abs=1e-12)
            if row["ev"] is not None:
                best, others = table.best[at].max(), table.counterfactual_reach[infoset]
                regret = best / others - row["ev"]
                assert row["conditional_regret"] == pytest.approx(regret, abs=1e-12)
                np.testing.assert_allclose(row["q"], table.expected[at], atol=1e-12)
                assert row["ev"] == pytest.approx(table.infoset_expected[infoset], abs=1e-12)
            else:
                assert row["conditional_regret"] is None
                assert np.isnan(table.infoset_expected[infoset])
        if rows and node["reach"] > 0:
            assert node["reach"] == pytest.approx(sum(row["reach"] for row in rows), abs=1e-14)
            for index, action in enumerate(node["actions"]):
                mean = sum(row["reach"] * row["p"][index] for row in rows) / node["reach"]
                assert chosen[action] == pytest.approx(mean, abs=1e-12)
        if node["reach"] > 0:
            for own in node["ranges"]:
                assert sum(hand["p"] for hand in own) == pytest.approx(1.0, abs=1e-12)
            if node["children"]:
                assert sum(chosen.values()) == pytest.approx(1.0, abs=1e-12)
            if node["kind"] == "terminal":
                utility += node["reach"] * np.array(node["utility"])
        assert [step["id"] for step in node["path"]][-1] == node["id"]
    assert sorted(met) == list(range(game.n_infosets))
    # The terminals make up the value of the game.
    np.testing.assert_allclose(utility, solution.value, atol=1e-12)


class Forced(PublicTreeGame):
    """A step that player 0 cannot choose lies before chance and decisions of both players."""

    hands = (["a", "b"], ["c", "d", "e"])
    prior = np.array([[0.1, 0.2, 0.05], [0.3, 0.25, 0.1]])

    def node(self, state: tuple[str, ...]) -> Decision | Chance | Payoff:
        if len(state) == 5 or state[3:] == ("fold",):
            return Payoff(2.0, state)
        nodes: list[Decision | Chance] = [
            Decision(1, None, ("left", "right")),
            Decision(0, None, ("go",)),
            Chance(
                {"up": np.full(self.prior.shape, 0.25), "down": np.full(self.prior.shape, 0.75)}
            ),
            Decision(1, None, ("fold", "call")),
            Decision(0, None, ("low", "high")),
        ]
        return nodes[len(state)]

    def matrix(self, key: tuple[str, ...]) -> np.ndarray:
        own = np.random.default_rng([len(step) for step in key]).normal(size=(2, 3))
        return np.stack([own, -own])


class ForcedTwins(Forced):
    """Two hands of player 0 are alike."""

    hands = (["a", "b", "f"], ["c", "d", "e"])
    prior = Forced.prior[[0, 1, 0]] / Forced.prior[[0, 1, 0]].sum()

    def matrix(self, key: tuple[str, ...]) -> np.ndarray:
        return super().matrix(key)[:, [0, 1, 0]]


CUT: dict[str, dict[str, Any]] = {
    "leduc of cards": {"source": LeducOfCards()},
    "random cards": {"source": RandomCards(2)},
    "turn": {
        **{"source": "holdem", "board": "Td9d6hQd", "ranges": ("AA,KK", "QJs,88"), "pot": 100},
        **{"stacks": 150, "bets": {"turn": "a", "river": "50%"}, "raises": "a"},
    },
    "kuhn": {"source": "kuhn", "cut": 1},
    "leduc": {"source": "leduc", "cut": 2},
    "leduc, suits told apart": {"source": "leduc(ranks=2)", "cut": 2, "symmetry": False},
    # Its last decisions have one action.
    "liars_dice": {"source": "liars_dice(faces=3)", "cut": 2},
    **{f"random {s}": {"source": random_public_tree_game(s), "cut": 1} for s in range(6)},
    "forced": {"source": Forced(), "cut": 1},
    "forced twice": {"source": ForcedTwins(), "cut": 1},
}


QUICK = {"leduc of cards", "kuhn", "liars_dice", "random 0", "random 3", "forced", "forced twice"}


@pytest.mark.parametrize("name", tiered(CUT, QUICK))
def test_a_game_in_chunks_is_shown_as_its_flat_game_is(name: str) -> None:
    """Chunk by chunk, against the values of the game laid out."""
    # Kernels that other tests compile, too: those of a game of cards are not those of others.
    has_cards = "cut" not in CUT[name]
    options: dict[str, Any] = {"algorithm": "cfr"}
    if has_cards:
        options = {"algorithm": "dcfr", "precision": "float32"}
    check_against_flat(Session(solve(compile_game(**CUT[name]), iters=7, **options)))


@pytest.mark.parametrize("options", [{"cut": 1}, {"cut": False}, {"cut": (1, 2)}], ids=str)
def test_a_node_that_is_not_there(options: dict[str, Any]) -> None:
    """The first node that is asked for is -1: it was an IndexError of a game in chunks."""
    game = compile_game("kuhn(cards=4)", **options)
    for number in (-1, -2, 10**9, 10**30):
        session = Session(solve(game, "cfr", iters=1))
        with pytest.raises(ValueError, match=f"kuhn.* has no public node {number}$"):
            session.node(number, 0)
    if options["cut"]:
        nodes = game.nodes
        assert list(nodes.decisions(0))
        with pytest.raises(ValueError, match="there is no public node -1"):
            nodes.label(-1)


def check_against_flat(session: Session) -> None:
    """Every node, its twin found by the steps that lead there."""
    solution = session.solutions[0].solution
    assert isinstance(session.nodes, HandNodes)
    game = solution.game.flat()
    policy = solution.policy.moved_to(game)
    flat, other = nodes_of(game), replace(solution, game=game, policy=policy, state=None)
    other = flat.values_of(other)
    by_path = {}
    left = [flat.root]
    while left:
        node = flat.node(left.pop(), other)
        by_path[tuple(step["label"] for step in node["path"])] = node
        left += [child["id"] for child in node["children"]]
    found = walk(session)
    assert len(found) == len(by_path) == session.nodes.count
    assert [node["id"] for node in found] != []
    assert sorted(session.nodes.first(10_000)) == sorted(node["id"] for node in found)
    met = 0
    for node in found:
        twin = by_path[tuple(step["label"] for step in node["path"])]
        for key in ("kind", "player", "name"):
            assert node[key] == twin[key]
        assert [step["label"] for step in node["children"]] == [
            step["label"] for step in twin["children"]
        ]
        assert node["reach"] == pytest.approx(twin["reach"], abs=1e-12)
        for mine, theirs in zip(node["ranges"], twin["ranges"], strict=True):
            expected = {row["hand"]: row["p"] or 0.0 for row in theirs if row["dealt"] > 0}
            if node["reach"] > 1e-12:
                assert {row["hand"]: row["p"] for row in mine} == pytest.approx(expected, abs=1e-9)
        steps = {child["label"]: child for child in twin["children"] if child["p"] is not None}
        for child in node["children"]:
            if child["p"] is not None and node["reach"] > 1e-12:
                assert child["p"] == pytest.approx(steps[child["label"]]["p"], abs=1e-9)
        rows = {row["hand"]: row for row in twin["hands"]}
        for row in node["hands"]:
            met += 1
            same = rows[row["hand"]]
            assert row["p"] == pytest.approx(same["p"], abs=1e-12)
            assert row["reach"] == pytest.approx(same["reach"], abs=1e-12)
            if same["others"] > 1e-9:
                for key in ("q", "ev", "conditional_regret"):
                    assert row[key] == pytest.approx(same[key], abs=1e-9)
            for key in ("loss", "own", "others"):
                assert row[key] == pytest.approx(same[key], abs=1e-12)
        if node.get("utility") and node["reach"] > 1e-9:
            assert node["utility"] == pytest.approx(twin["utility"], abs=1e-9)
    assert met == sum(len(twin["hands"]) for twin in by_path.values())
    line = max((node["name"] for node in found if node["hands"]), key=len)
    hit = session.nodes.search(line)[0]
    assert session.node(hit["node"], 0)["name"] == line
    hand = next(node for node in found if node["name"] == line)["hands"][0]
    assert session.nodes.search(hand["infoset"])[0]["node"] == hit["node"]
    for text in ("nothing", "nothing of the kind"):
        assert session.nodes.search(text) == []
    for number in (-1, 10**9):
        with pytest.raises(ValueError, match="has no public node"):
            session.node(number, 0)


def test_solutions_without_averages_in_chunks_and_with_locks(
    interpreted: None,
) -> None:
    game = compile_game("kuhn", cut=1)
    exact = solve(game.flat(), "lp")
    exact = replace(exact, game=game, policy=exact.policy.moved_to(game))
    check_against_flat(Session(exact))
    locked = solve(game, iters=30, locks={"K": {"bet": 1}})
    session = Session(exact, locked)
    rows = {row["infoset"]: row["lock"] for row in session.node(0, 1)["hands"]}
    assert rows == {"J": None, "Q": None, "K": {"pass": 0.0, "bet": 1.0}}
    # Free of the lock.
    gains = evaluate(game, locked.policy).gains
    assert session.about()["solutions"][1]["gains"] == pytest.approx(gains, abs=1e-14)


@pytest.mark.parametrize(
    "source", ["goofspiel(cards=3)", "kuhn(players=3)", random_game(3)], ids=str
)
def test_infosets(source: Any) -> None:
    solution = solved(source)
    game = solution.game
    session = Session(solution)
    assert isinstance(session.nodes, InfosetNodes)
    found = walk(session)
    assert sorted(node["id"] for node in found) == list(range(-1, game.n_infosets))
    table = values(game, solution.policy)
    for node in found:
        if node["id"] == -1:
            continue
        (row,) = node["hands"]
        assert row["infoset"] == game.infoset_labels[node["id"]] == node["path"][-1]["label"]
        assert row["reach"] == pytest.approx(table.reach[node["id"]], abs=1e-14)
        # The way here goes through the owner's infosets, each below the one before.
        assert node["path"][0]["id"] == -1
        for above, below in zip(node["path"][1:], node["path"][2:], strict=False):
            children = [child["id"] for child in session.node(above["id"], 0)["children"]]
            assert below["id"] in children


def test_many_infosets_below_one_action(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHILDREN", 1)
    session = Session(solved("goofspiel(cards=3)"))
    labels = [child["label"] for child in session.node(-1, 0)["children"]]
    assert len(labels) <= 4
    some = next(n for n in range(session.nodes.count) if len(session.node(n, 0)["children"]) > 3)
    assert any("more" in child["label"] for child in session.node(some, 0)["children"])


def test_search() -> None:
    session = Session(solved("leduc"))
    (first, *others) = session.nodes.search("Jh cc/Js")
    assert first["infoset"] == "Jh cc/Js"
    assert others
    assert all("Jh cc/Js" in one["infoset"] for one in others)
    rows = session.node(first["node"], 0)["hands"]
    assert "Jh cc/Js" in [row["infoset"] for row in rows]
    assert session.nodes.search("jh CC")[0]["infoset"].startswith("Jh cc")
    assert session.nodes.search("  ") == session.nodes.search("zz") == []
    assert session.nodes.place("Jh cc/Js") == first["node"]
    with pytest.raises(ValueError, match="no infoset or line 'zz'"):
        session.nodes.place("zz")


def test_search_in_large_games_takes_the_whole_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SEARCHED", 0)
    session = Session(solved("leduc"))
    assert [one["infoset"] for one in session.nodes.search("Jh cc/Js")] == ["Jh cc/Js"]
    assert session.nodes.search("Jh cc/") == []


def test_a_node_is_there_before_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solved("kuhn")
    session, go_on = Session(solution), Event()
    of = session.solutions[0]

    def wait(solution: Solution) -> Any:
        assert go_on.wait(20)
        return values(solution.game, solution.policy)

    monkeypatch.setattr(of, "_work", wait)
    early = session.node(0, 0, 0.01)
    assert not early["values"]
    assert all("ev" not in row and row["p"] and row["reach"] for row in early["hands"])
    go_on.set()
    late = session.node(0, 0)
    assert late["values"]
    table = values(solution.game, solution.policy).table().to_dict()
    for row in late["hands"]:
        assert row["q"] == [one["expected_value"] for one in table[row["infoset"]].values()]


def test_values_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities are there all the same, and the note says why the rest is not."""
    session = Session(solved("kuhn"))
    of = session.solutions[0]

    def fail(solution: Solution) -> Any:
        raise ArithmeticError("too large")

    monkeypatch.setattr(of, "_work", fail)
    node = session.node(0, 0)
    assert node["note"] == "expected values could not be computed: too large"
    policy = of.solution.policy
    assert {row["infoset"]: row["p"] for row in node["hands"]} == {
        card: list(policy[card].values()) for card in "JQK"
    }


def test_no_memory_for_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "free_memory", lambda: 0)
    session = Session(solved("kuhn"))
    node = session.node(0, 0)
    assert "not enough memory" in node["note"]
    assert node["hands"][0]["p"]
    assert "ev" not in node["hands"][0]
    assert sum(row["reach"] for row in node["hands"]) == pytest.approx(1.0)


class TestDesk:
    def test_solving_again_with_locks(self) -> None:
        game = compile_game("kuhn")
        first = solve(game, iters=100)
        session = Session(first)
        session.solve({"K": {"bet": 1}}, 200)
        wait_for_solve(session)
        twin = solve(game, first.algorithm, iters=200, locks={"K": {"bet": 1}})
        again = session.solutions[1].solution
        np.testing.assert_array_equal(again.policy.probabilities, twin.policy.probabilities)
        about = session.about()
        assert about["version"] == 1
        assert about["solutions"][1]["values"] == list(twin.value)
        assert about["solutions"][1]["locks"] == {"K": {"pass": 0.0, "bet": 1.0}}
        # Free opponents gain at least as much as those who play the lock.
        assert sum(about["solutions"][1]["gains"]) >= twin.nash_conv - 1e-12
        rows = session.node(0, 1)["hands"]
        locks = {row["infoset"]: row["lock"] for row in rows}
        assert locks == {"J": None, "Q": None, "K": {"pass": 0.0, "bet": 1.0}}

    def test_refusals(self) -> None:
        session = Session(solved("kuhn"))
        for locks, iterations, message in (
            ({"Z": {"bet": 1}}, 10, "no infoset 'Z'"),
            ({"K": {"bet": 2}}, 10, "sum to at most 1"),
            ({"K": 1}, 10, "lock of 'K'"),
            ([], 10, "must be a mapping"),
            ({}, 0, "iterations must be"),
            ({}, 1.5, "iterations must be"),
            ({}, True, "iterations must be"),
        ):
            with pytest.raises((TypeError, ValueError), match=message):
                session.solve(locks, iterations)
        for number, index in ((9, 0), (-1, 0), (0, 1), (0, -1)):
            with pytest.raises(ValueError, match=r"there is no|has no"):
                session.node(number, index)
        with pytest.raises(ValueError, match=r"leduc.* and kuhn differ in more than utilities"):
            Session(solved("kuhn"), solved("leduc(ranks=2)"))

    def test_what_is_not_solved_gives_way_to_the_result(self) -> None:
        game = compile_game("kuhn")
        session = Session(solve(game, "cfr", iters=0))
        session.solve({}, 30)
        wait_for_solve(session)
        assert len(session.solutions) == 1
        twin = solve(game, "cfr", iters=30)
        found = session.solutions[0].solution.policy.probabilities
        np.testing.assert_array_equal(found, twin.policy.probabilities)

    def test_a_solve_that_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        session = Session(solved("kuhn"))

        def fail(*given: Any, **options: Any) -> Any:
            raise MemoryError

        with monkeypatch.context() as patch:
            patch.setattr("tensorcfr.viewer.session.solve", fail)
            session.solve({}, 30)
            wait_for_solve(session)
        assert session.status() == {"version": 0, "running": None, "error": "MemoryError"}
        assert len(session.solutions) == 1
        # The next one is not refused.
        session.solve({}, 30)
        wait_for_solve(session)
        assert session.status() == {"version": 1, "running": None, "error": None}

    def test_one_solve_at_a_time_which_can_be_stopped(self) -> None:
        session = Session(solved("kuhn"))
        session.solve({}, 10_000_000)
        with pytest.raises(BusyError):
            session.solve({}, 1)
        assert session.status()["running"]["iterations"] == 10_000_000
        session.stop()
        wait_for_solve(session)
        assert session.solutions[1].solution.iterations < 10_000_000
        assert session.status() == {"version": 1, "running": None, "error": None}


class TestPage:
    def test_labels_cannot_break_out(self) -> None:
        text = build_page({"mode": "file", "label": "</script><script>alert(1)</script><!--"})
        assert text.count("</script>") == 2  # The data's and the program's.
        assert "alert(1)" in text

    def test_one_file(self, tmp_path: Path) -> None:
        solution = solved("kuhn")
        path = save_html(solution, tmp_path / "kuhn.html")
        text = path.read_text()
        assert "<!--" not in text.partition("<script")[0]
        for word in ("http://", "https://", "src=", "@import"):
            assert word not in text.replace("http://www.w3.org/2000/svg", "")
        few = save_html(solution, tmp_path / "few.html", most=2).read_text()
        assert len(few) < len(text)
        both = save_html(solution, tmp_path / "both.html", second=solved("kuhn"))
        assert both.stat().st_size > path.stat().st_size

    def test_a_part(self, tmp_path: Path) -> None:
        """A line, or what comes before the next card; the size is told first, to a tenth."""
        solution, told = solved("leduc"), list[PageSize]()
        whole = save_html(solution, tmp_path / "whole.html", tell=told.append)
        street = save_html(solution, tmp_path / "street.html", street=True, tell=told.append)
        line = save_html(solution, tmp_path / "line.html", line="raise", tell=told.append)
        both = save_html(
            solution, tmp_path / "both.html", line="raise", street=True, tell=told.append
        )
        first, second, third, fourth = (shown_in(path) for path in (whole, street, line, both))
        assert [size.nodes for size in told] == [len(first), len(second), len(third), len(fourth)]
        assert len(first) == told[0].of == solution.game.nodes.count  # type: ignore[union-attr]
        for size, path in zip(told, (whole, street, line, both), strict=True):
            assert size.bytes == pytest.approx(path.stat().st_size, rel=0.1)
        assert second.items() <= first.items()
        assert all(len(node["path"]) <= 6 and "/" not in node["name"] for node in second.values())
        assert all(node["path"][1]["label"] == "raise" for node in third.values())
        assert fourth.keys() == third.keys() & second.keys()
        with pytest.raises(ValueError, match="has no infoset or line"):
            save_html(solution, tmp_path / "none.html", line="bet")
        assert not (tmp_path / "none.html").exists()

    def test_it_is_small(self) -> None:
        assert len(build_page({"mode": "server", "token": "x" * 43}, "n" * 22)) < 300_000


def shown_in(path: Path) -> dict[str, Any]:
    """The nodes of a page, by number."""
    _, _, text = path.read_text().partition('id="boot">')
    (nodes,) = json.loads(text.partition("</script>")[0])["nodes"]
    return nodes
