"""Events of iterations: every number equals a slow recursion's, in the order of the engine."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from support.slow_iterations import SlowIterations
from tensorcfr import Chance, Decision, Game, SampledSolver, Terminal, compile_game
from tensorcfr.algorithms import ALGORITHMS, Algorithm
from tensorcfr.analysis import IterationEvents, iteration_events
from tensorcfr.games import make_game
from tensorcfr.sweep import read_algorithm


class Market(Game):
    """A seller sees the weather and sets a price; a buyer sees the price. Not a zero-sum game."""

    def node(self, history: Any) -> Any:
        if not history:
            return Chance({"sun": 0.7, "rain": 0.3})
        if len(history) == 1:
            return Decision(0, f"seller {history[0]}", ("high", "low", "close"))
        if history[1] == "close":
            return Terminal((0.0, 0.0))
        if len(history) == 2:
            return Decision(1, f"buyer {history[1]}", ("buy", "leave"))
        worth, price = {"sun": 3.0, "rain": 1.0}[history[0]], {"high": 2.0, "low": 1.0}[history[1]]
        return Terminal((price - 0.5, worth - price) if history[2] == "buy" else (-0.5, 0.0))


def fraction(number: float) -> Fraction:
    return Fraction(number).limit_denominator(10**6)


def discounted(old: Any, instant: Any, t: int) -> Any:
    """DCFR of its paper (N. Brown, T. Sandholm, AAAI 2019) with alpha 1.5 and beta 0."""
    power = (t - 1) ** 1.5
    return old * (power / (power + 1) if old > 0 else 0.5) + instant


def floored(old: Any, instant: Any, t: int) -> Any:
    return max(old + instant, 0)


class Case(NamedTuple):
    rules: Any
    algorithm: str
    slow: dict[str, Any]
    options: dict[str, Any] = {}


CASES = {
    "kuhn cfr": Case(make_game("kuhn"), "cfr", {"number": fraction}),
    "leduc cfr+": Case(
        make_game("leduc(ranks=2)"), "cfr+", {"new_regret": floored, "weight": lambda t: t}
    ),
    "liar's dice external": Case(
        make_game("liars_dice(faces=3)"), "external_sampling", {"scheme": "external"}
    ),
    "market dcfr": Case(Market(), "dcfr", {"new_regret": discounted, "weight": lambda t: t**2}),
    "market external": Case(Market(), "external_sampling", {"scheme": "external"}),
    "kuhn chance": Case(
        make_game("kuhn"), "chance_sampling", {"number": fraction, "scheme": "chance"}
    ),
    "kuhn outcome": Case(
        make_game("kuhn"), "outcome_sampling", {"number": fraction, "scheme": "outcome"}
    ),
    "leduc outcome": Case(make_game("leduc"), "outcome_sampling", {"scheme": "outcome"}),
    "three players": Case(
        make_game("kuhn(players=3)"), "external_sampling", {"scheme": "external"}
    ),
    "three, outcome": Case(make_game("kuhn(players=3)"), "outcome_sampling", {"scheme": "outcome"}),
    "a line": Case(make_game("leduc"), "cfr", {}, {"line": ("Ks", "Qh", "raise")}),
}


def paths_of(events: dict[str, Any]) -> list[tuple[str, ...]]:
    paths: list[tuple[str, ...]] = []
    for node in events["nodes"]:
        parent = node["parent"]
        paths.append((*paths[parent], node["label"]) if parent >= 0 else tuple(events["path"]))
    return paths


def near(shown: Any, expected: Any) -> None:
    numbers, wanted = np.asarray(shown, float), np.asarray(expected, float)
    assert numbers.shape == wanted.shape
    assert (np.abs(numbers - wanted) <= 1e-12).all()


@pytest.mark.parametrize("name", CASES)
def test_every_number(name: str) -> None:
    case = CASES[name]
    options = {"seed": 4} if case.slow.get("scheme") else {}
    record = read_algorithm(case.algorithm)
    events = iteration_events(compile_game(case.rules), record, iters=3, **options, **case.options)
    check_numbers(events, SlowIterations(case.rules, **case.slow), Case(*case))


def check_numbers(shown: IterationEvents, slow: SlowIterations, case: Case) -> None:
    events: dict[str, Any] = shown.to_dict()
    paths, infosets = paths_of(events), events["infosets"]
    labels = [infoset["label"] for infoset in infosets]
    check_nodes(events, paths, slow)
    for iteration in events["iterations"]:
        t = iteration["number"]
        for k, label in enumerate(labels):
            count = len(infosets[k]["actions"])
            near(iteration["regret"][k], slow.regret.get(label, [0] * count))
            near(iteration["strategy"][k], slow.strategy.get(label, [1 / count] * count))
            near(iteration["strategy_sum"][k], slow.sums.get(label, [0] * count))
        assert [update["player"] for update in iteration["updates"]] == [
            *range(slow.rules.n_players)
        ]
        for update in iteration["updates"]:
            is_whole = slow.scheme == "whole"
            visited = {paths[n] for n, x in enumerate(update["value"]) if x is not None}
            sums = {label: list(numbers) for label, numbers in slow.sums.items()}
            twin = slow.update(update["player"], t, None if is_whole else visited)
            assert update["scheme"] == slow.scheme
            if not is_whole:
                assert set(twin.value) == visited
            for n, path in enumerate(paths):
                if path in twin.value:
                    near(update["value"][n], twin.value[path])
                    near(update["reach"][n], twin.reach[path])
                assert (update["drawn"][n] is None) == (path not in twin.drawn)
                if path in twin.drawn:
                    near(update["drawn"][n], twin.drawn[path])
            for k, label in enumerate(labels):
                if label in twin.strategy:
                    near(update["strategy"][k], twin.strategy[label])
                    near(update["passed"][k], twin.strategy[label])
            learned = {labels[one["infoset"]]: one for one in update["learned"]}
            assert set(learned) == set(twin.terms) & set(labels)
            for label, one in learned.items():
                check_learned(one, twin, label, paths, slow)
            added = [one for one in twin.added if one[0] in labels]
            assert len(added) == len(update["averaged"])
            by_label = sorted(added, key=lambda one: one[0])
            rows = sorted(update["averaged"], key=lambda one: labels[one["infoset"]])
            for one, (label, reach, sampled) in zip(rows, by_label, strict=True):
                assert labels[one["infoset"]] == label
                assert (one["weight"], one["scale"]) == (slow.weight(t), 1.0)
                near([one["reach"], one["sampled"]], [reach, sampled])
                near(one["strategy"], twin.strategy[label])
                near(one["strategy_sum"], sums.get(label, [0] * len(one["strategy"])))
                sums[label] = one["new_strategy_sum"]
                near(one["new_strategy_sum"], slow.sums[label])


def check_learned(
    one: dict[str, Any], twin: Any, label: str, paths: list[Any], slow: SlowIterations
) -> None:
    instant, old, new = twin.regrets[label]
    near(one["instant"], instant)
    near(one["regret"], old)
    near(one["new_regret"], new)
    near(one["strategy"], twin.strategy[label])
    near(one["new_strategy"], slow.strategy[label])
    terms = {" ".join(term.path) or "start": term for term in twin.terms[label]}
    assert {term["history"] for term in one["terms"]} == set(terms)
    for term in one["terms"]:
        expected = terms[term["history"]]
        near([term["weight"], term["value"]], [expected.weight, expected.value])
        near(term["values"], expected.values)
        if term["node"] >= 0:
            assert paths[term["node"]] == expected.path
        else:
            assert expected.path not in paths


def check_nodes(events: dict[str, Any], paths: list[Any], slow: SlowIterations) -> None:
    """The histories are those of the rules: actors, infosets, actions, chance and utilities."""
    for n, path in enumerate(paths):
        node, state = events["nodes"][n], slow.rules.root()
        probability = 1.0
        for depth, step in enumerate(path):
            rules = slow.rules.node(state)
            steps = rules.outcomes if isinstance(rules, Chance) else dict.fromkeys(rules.actions, 1)
            (chosen,) = (one for one in steps if slow.label(depth, one) == step)
            probability = float(steps[chosen])
            state = slow.rules.next(state, chosen)
        rules = slow.rules.node(state)
        near(node["probability"], probability)
        if isinstance(rules, Terminal):
            assert (node["actor"], node["infoset"]) == (-2, -1)
            near(node["utility"], rules.utilities)
        elif isinstance(rules, Chance):
            assert (node["actor"], node["infoset"], node["utility"]) == (-1, -1, [])
        else:
            infoset = events["infosets"][node["infoset"]]
            assert node["actor"] == infoset["player"] == rules.player
            assert infoset["label"] == rules.infoset
            assert infoset["actions"] == [str(action) for action in rules.actions]


# ------------------------------------------------------------------------------------- the order


@pytest.mark.parametrize(
    "algorithm", ["cfr", "chance_sampling", "external_sampling", "outcome_sampling"]
)
@pytest.mark.parametrize("rules", [make_game("kuhn"), Market()], ids=["kuhn", "market"])
def test_order(rules: Any, algorithm: str) -> None:
    """Reaches go down, values come up, and an infoset learns when all its values are known."""
    events = iteration_events(compile_game(rules), algorithm, iters=4)
    for iteration in events.iterations:
        for k, update in enumerate(iteration.updates):
            order = [event for one in iteration.passes if one.update == k for event in one.events]
            assert len(set(order)) == len(order)
            at = {event: j for j, event in enumerate(order)}
            visited = [n for n, value in enumerate(update.value) if value is not None]
            for kind in ("reach", "value"):
                assert sorted(n for known, n in order if known == kind) == visited
            for n in visited:
                parent = events.nodes[n].parent
                assert at["reach", n] < at["value", n]
                if parent >= 0:
                    assert at["reach", parent] < at["reach", n]
                    assert at["value", n] < at["value", parent]
            for j, learned in enumerate(update.learned):
                for term in learned.terms:
                    assert at["value", term.node] < at["regret", j]
            for j, _ in enumerate(update.averaged):
                assert ("average", j) in at


def test_players_who_do_not_alternate_learn_from_the_same_strategies() -> None:
    events = iteration_events(
        compile_game("kuhn"), read_algorithm("cfr(alternating=False)"), iters=2
    )
    second = events.iterations[1]
    assert [one.title.split(":")[0] for one in second.passes] == [
        "forward pass of player 0",
        "forward pass of player 1",
        *("backward pass of player 0", "forward pass of player 0"),
        *("backward pass of player 1", "forward pass of player 1"),
    ]
    assert second.updates[0].strategy == second.updates[1].strategy == second.strategy


@pytest.mark.parametrize(
    "name", ["kuhn", "leduc(ranks=2)", "goofspiel(cards=3)", "kuhn(players=3)"]
)
@pytest.mark.parametrize("algorithm", ["chance_sampling", "external_sampling", "outcome_sampling"])
def test_the_branch_is_that_of_a_solve(name: str, algorithm: str) -> None:
    """With the same seed, a solver visits as many histories, and its numbers are those shown."""
    game = compile_game(name)
    events = iteration_events(game, algorithm, iters=5, seed=7, most=game.n_histories)
    solver = SampledSolver(game, algorithm, seed=7)
    for iteration in events.iterations:
        before = solver.nodes_touched
        sums = solver.sums
        for k, infoset in enumerate(events.infosets):
            own = sums[infoset.label]
            assert iteration.regret[k] == tuple(own.regret.values())
            assert iteration.strategy_sum[k] == tuple(own.strategy.values())
        solver.iterate()
        visited = [x for update in iteration.updates for x in update.value if x is not None]
        # Chance sampling counts nodes that it leaves out for lack of reach, if they are terminals.
        if algorithm != "chance_sampling":
            assert solver.nodes_touched - before == len(visited)
    with pytest.raises(KeyError):
        solver.sums["nobody"]


# --------------------------------------------------------------------------- every algorithm


WHOLE = [name for name, record in ALGORITHMS.items() if isinstance(record, Algorithm)]


@pytest.mark.full
@pytest.mark.parametrize("algorithm", WHOLE)
def test_whole_tree_algorithms(algorithm: str) -> None:
    """Each of them can be shown, and has the numbers of its solver."""
    game = compile_game("kuhn")
    events = iteration_events(game, algorithm, iters=3)
    for before, after in zip(events.iterations, events.iterations[1:], strict=False):
        for update in before.updates:
            for learned in update.learned:
                assert learned.new_regret == after.regret[learned.infoset]
                assert learned.new_strategy == after.strategy[learned.infoset]
                total = np.dot(learned.strategy, learned.instant)
                assert total == pytest.approx(0.0, abs=1e-12)


# ----------------------------------------------------------------------------- what is shown


def test_merged_infosets() -> None:
    """Suits do not matter in Leduc: an infoset is merged with those of the other suits."""
    events = iteration_events(compile_game("leduc"), "cfr+", iters=1)
    merged = {infoset.label: set(infoset.merged) for infoset in events.infosets}
    assert events.path == ("Js", "Jh")
    assert len(events.nodes) == 315
    assert merged["Js"] == {"Jh"}
    assert merged["Js cc/Kh"] == {"Js cc/Ks", "Jh cc/Ks", "Jh cc/Kh"}
    apart = iteration_events(compile_game("leduc", symmetry=False), "cfr+", iters=1)
    assert not any(infoset.merged for infoset in apart.infosets)


def test_a_part() -> None:
    game = compile_game("leduc")
    events = iteration_events(game, "cfr", iters=1, line=("Ks", "Qh", "raise", "call"))
    assert events.path == ("Ks", "Qh", "raise", "call")
    assert {node.actor for node in events.nodes} == {-1, -2, 0, 1}
    (learned,) = (
        one
        for one in events.iterations[0].updates[0].learned
        if events.infosets[one.infoset].label == "Ks rc/Kh"
    )
    # Four cards are left for the other player.
    assert sorted(term.node >= 0 for term in learned.terms) == [False, False, False, True]


def test_branches_in_a_large_game() -> None:
    events = iteration_events(compile_game("liars_dice"), "external_sampling", iters=1, seed=1)
    assert events.n_histories == 294_883
    visited = {
        n
        for update in events.iterations[0].updates
        for n, x in enumerate(update.value)
        if x is not None
    }
    for n, node in enumerate(events.nodes):
        assert n in visited or events.nodes[node.parent].actor >= 0
        assert not node.is_stub or n not in visited


@pytest.mark.parametrize(
    ("name", "algorithm", "options", "message"),
    [
        (
            "liars_dice",
            "cfr",
            {},
            "liars_dice: 8,191 histories to show, more than 1,000; show a part with line, such as "
            "'1,1,1x1,1x2,1x3,1x4'",
        ),
        ("kuhn", "cfr", {"line": ("Q", "Q")}, "there is no step 'Q'; there are: J, K"),
        ("kuhn", "cfr", {"line": "QK"}, "a line is a sequence of steps, not the text 'QK'"),
        ("kuhn", "cfr", {"seed": 1}, "it takes no deal and no seed"),
        ("kuhn", "lp", {}, "lp does not iterate"),
        ("kuhn", "robust_sampling", {}, "visits cannot be shown: its scheme is 'robust'"),
        ("kuhn", "public_chance_sampling", {}, "its scheme is 'public'"),
        ("kuhn", "outcome_sampling(baseline=0.5)", {}, "it has baselines"),
        ("kuhn", "chance_sampling(draws='golden')", {}, "its draws are 'golden'"),
        ("kuhn", "cfr", {"iters": 101}, "iters must be a whole number from 1 to 100"),
        ("leduc", "cfr", {"most": 100}, "315 histories to show, more than 100"),
    ],
)
def test_refusals(name: str, algorithm: str, options: Any, message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message):
        iteration_events(compile_game(name), read_algorithm(algorithm), **{"iters": 1, **options})


def test_the_named_line_is_small_enough() -> None:
    game = compile_game("liars_dice")
    line = ("1", "1", "1x1", "1x2", "1x3", "1x4")
    # Any of the eight higher bids may be made in turn, and each history has one call.
    assert len(iteration_events(game, "cfr", iters=1, line=line).nodes) == 512
