"""The pictures of sweeps and of strategies: what is drawn where."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.text
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tensorcfr import (
    Chance,
    Decision,
    Game,
    Policy,
    Solution,
    Terminal,
    compile_game,
    evaluate,
    solve,
)
from tensorcfr.plots import (
    find_node,
    is_kuhn,
    kuhn_stages,
    public_nodes,
    strategy_chart,
    sweep_curves,
)
from tensorcfr.plots.charts import KUHN_STAGES, _family, _percent
from tensorcfr.plots.style import line_style
from tensorcfr.sweep import SweepRow, read_sweep, sweep

KUHN = compile_game("kuhn")
LEDUC = compile_game("leduc")


def texts(figure: Figure) -> str:
    found = figure.findobj(matplotlib.text.Text)
    return "\n".join(str(text.get_text()) for text in found)


def names(figure: Figure) -> list[matplotlib.text.Annotation]:
    found = figure.findobj(matplotlib.text.Annotation)
    return [t for t in found if isinstance(t, matplotlib.text.Annotation) and t.arrow_patch]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[SweepRow]:
    path = tmp_path_factory.mktemp("sweep") / "sweep.csv"
    return sweep(path, ["kuhn", "matching_pennies"], ["cfr", "cfr+", "lcfr", "lp"], iters=300)


def seeds(values: list[list[float]], *, last: list[int] | None = None) -> list[SweepRow]:
    """One row per seed and checkpoint."""
    base = SweepRow(
        game="kuhn",
        algorithm="external_sampling",
        parameters="",
        seed=0,
        iteration=1,
        nodes_touched=1,
        decision_nodes_touched=1,
        seconds=1.0,
        nash_conv=1.0,
        exploitability=1.0,
        players=2,
        status="",
        budget="nodes=100000",
        versions="v",
        machine="m",
        date="d",
    )
    found = []
    for seed, own in enumerate(values):
        for place, value in enumerate(own):
            iteration = 10**place
            if last and place == len(own) - 1:
                iteration = last[seed]
            found.append(
                replace(
                    base,
                    seed=seed,
                    iteration=iteration,
                    nodes_touched=iteration * (10 + seed),
                    decision_nodes_touched=iteration * (4 + seed),
                    exploitability=value,
                )
            )
    return found


class TestSweepCurves:
    def test_a_panel_per_game_and_effort(self, rows: list[SweepRow]) -> None:
        figure = sweep_curves(rows, x=("iterations", "nodes", "seconds"))
        assert len(figure.axes) == 6
        lines = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) > 1]
        for line, name in zip(lines, ("cfr", "cfr+", "lcfr"), strict=True):
            own = [row for row in rows if (row.game, row.algorithm) == ("kuhn", name)]
            assert list(line.get_xdata()) == [row.iteration for row in own]
            assert list(line.get_ydata()) == [row.exploitability for row in own]
        assert {ax.get_xscale() for ax in figure.axes} == {"log"}

    @pytest.mark.full
    def test_game_metric_unit_machine(self, rows: list[SweepRow]) -> None:
        figure = sweep_curves(rows, title="Two games")
        said = texts(figure)
        for text in (
            "Two games",
            "exploitability = nash_conv / 2 players\n(units of utility)",
            "nodes touched (histories visited)",
            "(seconds)",
            rows[0].machine,
            rows[0].date,
            "nash_conv: sum over players",
        ):
            assert text in said
        assert figure.axes[0].get_title(loc="left") == "Kuhn poker"
        assert figure.axes[2].get_title(loc="left") == "Matching pennies"

    @pytest.mark.full
    def test_names_are_where_they_can_be_read(self, rows: list[SweepRow]) -> None:
        figure = sweep_curves([row for row in rows if row.game == "kuhn"])
        figure.draw_without_rendering()
        assert [name.get_text() for name in names(figure)] == ["cfr", "cfr+", "lcfr"] * 2
        boxes = [matplotlib.text.Text.get_window_extent(name) for name in names(figure)]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        assert all(box.x1 <= figure.bbox.x1 for box in boxes)

    def test_an_exact_solution_is_a_time(self, rows: list[SweepRow]) -> None:
        figure = sweep_curves([row for row in rows if row.game == "kuhn"])
        (exact,) = [row for row in rows if row.key == ("kuhn", "lp", None, 0)]
        assert f"lp: exact after {exact.seconds:.2g} s" in texts(figure)
        nodes, seconds = figure.axes
        assert exact.seconds not in [line.get_xdata()[0] for line in nodes.get_lines()]
        assert exact.seconds in [line.get_xdata()[0] for line in seconds.get_lines()]
        assert seconds.get_xlim()[1] > exact.seconds

    def test_nothing_above_0(self, rows: list[SweepRow]) -> None:
        # cfr starts at the equilibrium of matching pennies and stays there.
        figure = sweep_curves([row for row in rows if row.key[:2] == ("matching_pennies", "cfr")])
        assert not figure.axes[0].get_lines()

    def test_seeds_are_a_median_and_a_band(self) -> None:
        figure = sweep_curves(seeds([[0.9, 0.3], [0.8, 0.1], [0.7, 0.2]]), x=["nodes"])
        (ax,) = figure.axes
        line = ax.get_lines()[0]
        assert list(line.get_xdata()) == [11, 110]
        assert list(line.get_ydata()) == [0.8, 0.2]
        (band,) = ax.collections
        edges = {tuple(point) for point in band.get_paths()[0].vertices.tolist()}
        assert {(11.0, 0.7), (11.0, 0.9), (110.0, 0.1), (110.0, 0.3)} <= edges
        assert "median of 3 seeds; band: smallest to largest" in texts(figure)

    def test_decision_nodes(self) -> None:
        drawn = seeds([[0.9, 0.3], [0.8, 0.1], [0.7, 0.2]])
        figure = sweep_curves(drawn, x=["decision_nodes"])
        assert list(figure.axes[0].get_lines()[0].get_xdata()) == [5, 50]
        assert "decision nodes touched" in texts(figure)
        drawn[3] = replace(drawn[3], decision_nodes_touched=None)
        with pytest.raises(
            ValueError, match="rows of kuhn by external_sampling are from a version"
        ):
            sweep_curves(drawn, x=["nodes", "decision_nodes"])
        assert sweep_curves(drawn, x=["nodes"])

    def test_learning_nodes_count_shared_traversals_once(self) -> None:
        drawn = [
            replace(row, algorithm="chance_sampling(alternating=False)")
            for row in seeds([[0.9, 0.3]] * 3)
        ]
        drawn += seeds([[0.9, 0.3]] * 3)
        figure = sweep_curves(drawn, x=["learning_nodes"])
        lines = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) > 1]
        assert [list(line.get_xdata()) for line in lines] == [[2, 25], [5, 50]]
        with pytest.raises(ValueError, match="there is no algorithm 'lost'"):
            sweep_curves([replace(drawn[0], algorithm="lost")], x=["learning_nodes"])

    def test_seconds_begin_where_iterating_took_half_of_them(self) -> None:
        """Each checkpoint costs 1 ms, each node 10 us: 10, 100, 1,000 and 10,000 nodes."""
        (base, *_) = seeds([[0.9]])
        nodes = [10, 100, 1000, 10_000]
        drawn = [
            replace(base, iteration=n, nodes_touched=n, seconds=k * 1e-3 + n * 1e-5)
            for k, n in enumerate(nodes, start=1)
        ]
        time, effort = sweep_curves(drawn, x=["seconds", "nodes"]).axes
        assert list(time.get_lines()[0].get_xdata()) == [row.seconds for row in drawn[2:]]
        assert list(effort.get_lines()[0].get_xdata()) == nodes
        assert "Seconds begin where" in texts(sweep_curves(drawn))
        assert "Seconds begin where" not in texts(sweep_curves(drawn, x=["nodes"]))

    def test_ends_that_a_budget_in_nodes_sets_apart(self) -> None:
        figure = sweep_curves(seeds([[0.9, 0.3]] * 3, last=[900, 1000, 800]), x=["nodes"])
        line = figure.axes[0].get_lines()[0]
        assert list(line.get_xdata()) == [11, 9600]

    def test_from_the_file(self, rows: list[SweepRow], tmp_path: Path) -> None:
        path = tmp_path / "sweep.csv"
        sweep(path, ["kuhn"], ["cfr"], iters=5)
        picture = tmp_path / "sweep.svg"
        sweep_curves(path, path=picture)
        assert picture.stat().st_size > 1000
        assert "tensorcfr" in texts(sweep_curves(read_sweep(path)))

    def test_what_cannot_be_drawn(self, rows: list[SweepRow]) -> None:
        with pytest.raises(ValueError, match="there is nothing to draw"):
            sweep_curves([])
        with pytest.raises(ValueError, match="there is no x axis"):
            sweep_curves(rows, x=[])
        with pytest.raises(ValueError, match="no x axis 'node'; did you mean 'nodes'"):
            sweep_curves(rows, x=["node"])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="its ending must be one of"):
            sweep_curves(rows, path="sweep.doc")

    def test_line_styles_differ(self) -> None:
        styles = [line_style(index) for index in range(49)]
        assert len({(s["color"], str(s["linestyle"])) for s in styles}) == 49


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_the_family_drawn_in_is_one_of_equilibria(alpha: float) -> None:
    """H. W. Kuhn, 1950: no player gains by deviating, and the value is -1/18."""
    given = {}
    for stage, public in zip(KUHN_STAGES, ("", "p", "b", "pb"), strict=True):
        for card, bet in zip("JQK", _family(alpha)[stage], strict=True):
            given[card + public] = {"bet": bet, "pass": 1 - bet}
    found = evaluate(KUHN, Policy.from_mapping(KUHN, given))
    assert found.nash_conv == pytest.approx(0.0, abs=1e-15)
    assert found.values[0] == pytest.approx(-1 / 18)


class Blind(Game):
    """Each holds a card of his own, and the second does not see what the first chose."""

    def node(self, history: tuple[str, ...]) -> Decision | Chance | Terminal:
        if len(history) < 2:
            return Chance(dict.fromkeys(("AB", "CD")[len(history)], 0.5))
        if len(history) < 4:
            player = len(history) - 2
            return Decision(player, history[player], ("left", "right"))
        won = 1.0 if history[2] == history[3] else -1.0
        return Terminal((won, -won))


@pytest.fixture(scope="module")
def solution() -> Solution:
    return solve(KUHN, "cfr+", iters=500)


class TestKuhnStages:
    def test_bars_are_the_probability_of_betting(self, solution: Solution) -> None:
        figure = kuhn_stages(solution)
        assert len(figure.axes) == 4
        for ax, public in zip(figure.axes, ("", "p", "b", "pb"), strict=True):
            heights = [p.get_height() for p in ax.patches if isinstance(p, Rectangle)]
            assert heights == [solution.policy[f"{card}{public}"]["bet"] for card in "JQK"]
            assert [t.get_text() for t in ax.get_xticklabels()] == ["J", "Q", "K"]
        titles = [ax.get_title() for ax in figure.axes]
        assert titles == list(KUHN_STAGES.values())
        assert f"exploitability {solution.exploitability:.2g}" in texts(figure).replace("\n", " ")

    def test_the_equilibrium_with_the_same_alpha(self, solution: Solution) -> None:
        figure = kuhn_stages(solution)
        alpha = solution.policy["J"]["bet"]
        for ax, stage in zip(figure.axes, KUHN_STAGES, strict=True):
            (diamonds,) = [line for line in ax.get_lines() if line.get_marker() == "D"]
            np.testing.assert_allclose(diamonds.get_ydata(), _family(alpha)[stage])
        np.testing.assert_allclose(
            [solution.policy[c]["bet"] for c in "JQK"], _family(alpha)["start"], atol=0.03
        )

    def test_any_deck(self) -> None:
        figure = kuhn_stages(Policy.uniform(compile_game("kuhn(cards=10)")))
        assert all(len(ax.patches) == 10 for ax in figure.axes)
        assert "equilibria" not in texts(figure)
        assert is_kuhn(compile_game("one_card_poker"))

    def test_many_cards_are_lines_in_a_picture_of_the_same_width(self) -> None:
        game = compile_game("kuhn(cards=100)")
        policy = solve(game, "cfr+", iters=30).policy
        figure = kuhn_stages(policy)
        assert figure.get_figwidth() == kuhn_stages(Policy.uniform(KUHN)).get_figwidth()
        for ax, public in zip(figure.axes, ("", "p", "b", "pb"), strict=True):
            assert not ax.patches
            (line,) = ax.get_lines()
            expected = [policy[f"{card}{public}"]["bet"] for card in range(100)]
            np.testing.assert_array_equal(line.get_ydata(), expected)
            assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "25", "50", "75"]

    def test_other_games_are_refused(self) -> None:
        with pytest.raises(ValueError, match="leduc is not two-player Kuhn poker"):
            kuhn_stages(Policy.uniform(LEDUC))
        with pytest.raises(ValueError, match="is not two-player Kuhn poker"):
            kuhn_stages(Policy.uniform(compile_game("kuhn(players=3)")))

    def test_file(self, solution: Solution, tmp_path: Path) -> None:
        kuhn_stages(solution, path=tmp_path / "kuhn.png")
        assert (tmp_path / "kuhn.png").stat().st_size > 1000
        with pytest.raises(ValueError, match="its ending must be one of"):
            kuhn_stages(solution, path=tmp_path / "kuhn.doc")


class TestPublicNodes:
    def test_every_infoset_is_in_one(self) -> None:
        for game in (KUHN, LEDUC, compile_game("bluff(dice=(2, 1), faces=3)")):
            nodes = public_nodes(game)
            labels = [label for node in nodes.values() for label in node.infosets.labels]
            assert sorted(labels) == sorted(game.infoset_labels)
            for node in nodes.values():
                rows = node.infosets
                for hand, label, at in zip(node.hands, rows.labels, rows.numbers, strict=True):
                    public = "" if node.name == "start" else node.name
                    infoset = game.infoset_index[label]
                    assert label.replace(" ", "") == (hand + public).replace(" ", "")
                    assert game.infoset_actions[infoset] == node.actions
                    assert game.infoset_player[infoset] == node.player
                    own = game.sequences(infoset)
                    assert at.tolist() == list(range(own.start, own.stop, own.step))

    def test_hands_are_in_the_order_of_the_game(self) -> None:
        assert public_nodes(KUHN)["pb"].hands == ("J", "Q", "K")
        cards = compile_game("kuhn(cards=14)")
        assert public_nodes(cards)["start"].hands == tuple(map(str, range(14)))
        # The queen of spades is on the board, and in nobody's hand.
        assert public_nodes(LEDUC)["cc/Qs"].hands == ("Js", "Jh", "Qh", "Ks", "Kh")

    def test_without_hands_every_infoset_is_one(self) -> None:
        nodes = public_nodes(compile_game("rock_paper_scissors"))
        assert list(nodes) == ["P0", "P1"]
        assert nodes["P1"].hands == ("",)

    def test_names_that_two_players_share(self) -> None:
        nodes = public_nodes(compile_game(Blind()))
        assert list(nodes) == ["start (player 0)", "start (player 1)"]
        assert nodes["start (player 1)"].hands == ("C", "D")

    def test_unknown_nodes(self) -> None:
        assert find_node(LEDUC, " rr").name == "rr"
        assert find_node(LEDUC, "").name == "start"
        with pytest.raises(ValueError, match="no public node 'cc/Qz'; did you mean 'cc/Q"):
            find_node(LEDUC, "cc/Qz")
        with pytest.raises(ValueError, match="there are, among 186: 'start', "):
            find_node(LEDUC, "xyz")


class TestStrategyChart:
    def image(self, figure: Figure) -> Any:
        (image,) = figure.axes[0].get_images()
        return image.get_array()

    def test_cells_are_the_strategy(self) -> None:
        solution = solve(LEDUC, "cfr+", iters=50)
        figure = strategy_chart(solution, "rr")
        expected = [
            list(solution.policy[f"{h} rr"].values()) for h in public_nodes(LEDUC)["rr"].hands
        ]
        np.testing.assert_array_equal(self.image(figure).data, expected)
        ax = figure.axes[0]
        assert [t.get_text() for t in ax.get_yticklabels()] == ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
        assert [t.get_text() for t in ax.get_xticklabels()] == ["fold", "call"]
        assert "Leduc poker, player 0 at 'rr'" in texts(figure)

    def test_what_the_player_s_own_strategy_avoids_is_grey(self) -> None:
        given = {label: {"pass": 1.0, "bet": 0.0} for label in KUHN.infoset_labels}
        given["J"] = {"pass": 0.0, "bet": 1.0}
        figure = strategy_chart(Policy.from_mapping(KUHN, given), "pb")
        assert self.image(figure).mask.tolist() == [[True, True], [False, False], [False, False]]
        assert "never comes here" in texts(figure).replace("\n", " ")

    def test_a_game_without_hands(self) -> None:
        figure = strategy_chart(Policy.uniform(compile_game("rock_paper_scissors")), "P0")
        assert self.image(figure).shape == (1, 3)

    def test_file(self, tmp_path: Path) -> None:
        strategy_chart(Policy.uniform(LEDUC), path=tmp_path / "leduc.svg")
        assert (tmp_path / "leduc.svg").stat().st_size > 1000

    @pytest.mark.parametrize(
        ("probability", "text"),
        [(0.0, ".00"), (0.001, "<.01"), (1 / 3, ".33"), (0.5, ".50"), (0.999, ">.99"), (1.0, "1")],
    )
    def test_numbers(self, probability: float, text: str) -> None:
        assert _percent(probability) == text


class TestRecognisedGames:
    def test_hands_of_an_imported_game(self) -> None:
        pytest.importorskip("pyspiel")
        game = compile_game("openspiel:kuhn_poker")
        nodes = public_nodes(game)
        # OpenSpiel deals the cards 0, 1 and 2; player 1 first acts after one step.
        assert {name: node.hands for name, node in nodes.items()} == dict.fromkeys(
            ("start", "Pass", "Bet", "Pass Bet"), ("0", "1", "2")
        )
        for node in nodes.values():
            for hand, label in zip(node.hands, node.infosets.labels, strict=True):
                # Its information states begin with the card.
                assert label.startswith(hand)
        assert nodes["Pass"].player == 1
        figure = strategy_chart(solve(game, iters=10), "Pass Bet")
        assert "player 0 at 'Pass Bet'" in texts(figure)

    def test_hands_that_several_outcomes_deal(self) -> None:
        pytest.importorskip("pyspiel")
        nodes = public_nodes(compile_game("openspiel:leduc_poker"))
        assert nodes["start"].hands == ("0", "1", "2", "3", "4", "5")
        # After the board card 0 nobody can hold it.
        assert nodes["Call Call Chance outcome:0"].hands == ("1", "2", "3", "4", "5")

    def test_one_node_of_a_large_game(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from tensorcfr.analysis import named_nodes as module

        whole = public_nodes(LEDUC)
        monkeypatch.setattr(module, "LAZY_LABELS_FROM", 0)
        for name, node in whole.items():
            found = find_node(LEDUC, name)
            assert (found.name, found.hands, found.number) == (name, node.hands, node.number)
            assert found.infosets.labels == node.infosets.labels
            np.testing.assert_array_equal(found.infosets.numbers, node.infosets.numbers)
        with pytest.raises(ValueError, match="no public node 'zz'; names look like"):
            find_node(LEDUC, "zz")


class TestAxesOfOnesOwn:
    def test_strategy_chart(self) -> None:
        figure = Figure()
        left, right = figure.subplots(1, 2)
        drawn = strategy_chart(solve(LEDUC, iters=1), "rr", ax=left)
        assert drawn is figure
        assert left.get_title() == "Leduc poker, player 0 at 'rr'"
        assert not right.texts
        assert figure.get_supxlabel() == ""

    def test_kuhn_stages(self) -> None:
        figure = Figure()
        panels = figure.subplots(2, 2)
        assert kuhn_stages(solve(KUHN, iters=1), ax=panels) is figure
        assert all(len(panel.patches) == 3 for panel in panels.ravel())
        with pytest.raises(ValueError, match="ax must be 4 axes, not 2"):
            kuhn_stages(solve(KUHN, iters=1), ax=panels[0])
