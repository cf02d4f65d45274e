"""Games, ways to solve them and ways to look at the solutions, as data; and what each pair of them
must give.

A way to solve is an entry of :data:`SOLVE`, a way to look one of :data:`LOOK`, a game one of
:data:`GAMES`.  Every look compares a solution with slow computations over histories
(:mod:`support.reference`, :mod:`support.slow_values`, :mod:`support.slow_subgames`), never with the
library by another path.  :func:`solve_by` alone knows how the library is asked for a way to solve.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from support.card_games import RandomCards, ThreeRandom
from support.equality import as_game, perturbed
from support.fake_cluster import FakeClient
from support.paths import DATA
from support.random_games import random_game, random_public_tree_game, repeated
from support.reference import Tree, build_tree, normalized
from support.slow_subgames import cfr_d
from support.slow_values import DealtCards, LockedCFR, SlowValues
from tensorcfr import (
    CardGame,
    Chance,
    Decision,
    Game,
    GameError,
    Solution,
    Terminal,
    compile_game,
    evaluate,
    resolve,
    solve,
)
from tensorcfr.algorithms import CFR_D
from tensorcfr.analysis import values
from tensorcfr.formats import checker, policy_table, read_efg, read_policy, save_policy
from tensorcfr.games import make_game
from tensorcfr.games.holdem import Holdem
from tensorcfr.subgames import Match, Resolution
from tensorcfr.viewer import save_html

Rows = dict[str, list[float]]
"""Infoset label to probabilities in the order of the actions."""

# --------------------------------------------------------------------------------------- the games


class Matching(Game):
    """Matching pennies after the toss of an uneven coin that player 1 sees."""

    def node(self, state: tuple[Any, ...]) -> Decision | Chance | Terminal:
        if not state:
            return Chance({"low": 0.3, "high": 0.7})
        if len(state) == 1:
            return Decision(0, "first", ("heads", "tails", "stop"))
        if state[1] == "stop":
            return Terminal((-0.25, 0.25))
        if len(state) == 2:
            return Decision(1, f"second, {state[0]}", ("heads", "tails"))
        stake = 1.0 if state[0] == "low" else 2.25
        return Terminal((stake, -stake) if state[1] == state[2] else (-0.5 * stake, 0.5 * stake))


def suitless(label: str) -> str:
    """A label without the suits of its cards."""
    return re.sub("([JQK])[sh]", r"\1", label)


@dataclass(frozen=True)
class Corpus:
    """A game of the corpus."""

    make: Callable[[], Any]
    """Its rules."""
    kind: str
    """``"hands"`` (two players, private hands, a public tree), ``"cards"`` or ``"histories"``."""
    alike: Callable[[str], str] = str
    """Locks are the same at infosets for which this is the same."""
    slack: float = 1e-12
    """How far strategies and values may be off: sums of payoffs are rounded."""


FEW_RIVERS = "ThTsTc9h9s9c6d6s6c8d8c" + "".join(r + s for r in "23457J" for s in "cdhs")
"""Dead cards that leave thirteen rivers to the turn."""
GAMES: dict[str, Corpus] = {
    "kuhn": Corpus(lambda: make_game("kuhn"), "hands"),
    "merged suits": Corpus(lambda: make_game("nl_leduc(stack=2)"), "hands", suitless),
    "random hands": Corpus(
        lambda: random_public_tree_game(
            1, zero_sum=True, max_hands=4, max_nodes=40, max_depth=5, max_actions=3, stop=0.1
        ),
        "hands",
    ),
    "many terminals": Corpus(
        lambda: repeated(
            random_public_tree_game(
                4, max_hands=5, max_nodes=8, max_depth=3, chance=0.0, zero_sum=True, max_actions=2
            ),
            12,
            0,
        ),
        "hands",
    ),
    "three players": Corpus(lambda: make_game("kuhn(players=3)"), "histories"),
    "goofspiel": Corpus(lambda: perturbed("goofspiel(cards=3)", 359), "histories"),
    "random histories": Corpus(lambda: random_game(1), "histories"),
    "own rules": Corpus(Matching, "histories"),
    "gambit": Corpus(lambda: read_efg(DATA / "gambit" / "two_stages.efg"), "histories"),
    "river": Corpus(
        lambda: Holdem(
            board="Td9d6hQd3c",
            ranges=("AhAs,KdKc", "QsQh,8h8s,JsTs"),
            pot=100,
            stacks=150,
            bets={"river": "50%"},
            raises="a",
        ),
        "cards",
        slack=1e-11,
    ),
    "turn": Corpus(
        lambda: Holdem(
            board="Td9d6hQd",
            dead=FEW_RIVERS,
            ranges=("AhAs,KdKc", "QsQh,8h8s"),
            pot=100,
            stacks=150,
            bets={"turn": "", "river": "a"},
        ),
        "cards",
        slack=1e-11,
    ),
    "random cards": Corpus(
        lambda: RandomCards(22, cards=6, width=2, rounds=1, public=0, zero_sum=True), "cards"
    ),
    "two deals": Corpus(
        lambda: RandomCards(58, cards=6, width=1, rounds=2, public=1, zero_sum=True), "cards"
    ),
    "three hands": Corpus(lambda: ThreeRandom(59, cards=6, width=1, rounds=1, public=0), "cards"),
}

# ------------------------------------------------------------------------------ the ways to solve


@dataclass(frozen=True)
class Way:
    """A way to solve a game."""

    algorithm: str = "cfr+"
    """Its name."""
    cut: Any = False
    """Where the game is cut into chunks: public steps, several for cuts below cuts, or False for
    one flat form.  None leaves it to the library.  A game of cards is cut at each deal from that
    number on."""
    precision: str | None = None
    threads: int = 1
    files: bool = False
    """Whether the solver's arrays are kept in files."""
    workers: int = 0
    """Workers of a cluster; 0 without one."""
    uncompiled: bool = False
    """Whether the rules are solved as they are."""
    resumed: bool = False
    """Whether the solve goes on from a file half-way."""
    iters: int = 8
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the algorithm."""
    slack: float = 0.0
    """How far strategies may be off in addition: the precision."""

    @property
    def kind(self) -> str:
        """``"passes"``, ``"subgames"`` or ``"samples"``."""
        if self.algorithm == "cfr-d":
            return "subgames"
        return "samples" if "sampling" in self.algorithm else "passes"


FLAT, CUT = Way(), Way(cut=1)
EXTERNAL, OUTCOME = Way("external_sampling", iters=2000), Way("outcome_sampling", iters=4000)
SOLVE: dict[str, Way] = {
    "flat": FLAT,
    "flat, 2 threads": replace(FLAT, threads=2),
    "flat, float32": replace(FLAT, precision="float32", slack=2e-5),
    "flat, int16": replace(FLAT, precision="int16"),
    "flat, in files": replace(FLAT, files=True),
    "flat, cluster": replace(FLAT, workers=2),
    "flat, resumed": replace(FLAT, resumed=True),
    "as compiled": Way(cut=None),
    "cut at 1": CUT,
    "cut at 2": Way(cut=2),
    "cut at 2, 2 threads": Way(cut=2, threads=2),
    "cut at 1 and 2": Way(cut=(1, 2)),
    "cut at 1 and 2, cluster": Way(cut=(1, 2), workers=2),
    "cut, float32": replace(CUT, precision="float32", slack=2e-5),
    "cut, int16": replace(CUT, precision="int16", slack=2e-2),
    "cut, in files": replace(CUT, files=True),
    "cut, cluster": replace(CUT, workers=2),
    "cut, resumed": replace(CUT, resumed=True),
    "external sampling": EXTERNAL,
    "outcome sampling": OUTCOME,
    "chance sampling": Way("chance_sampling", iters=1000),
    "external, resumed": replace(EXTERNAL, resumed=True),
    "cfr+ on rules": Way(uncompiled=True),
    "external on rules": replace(EXTERNAL, uncompiled=True),
    "outcome on rules": replace(OUTCOME, uncompiled=True),
    "CFR-D": Way(
        "cfr-d", iters=3, options={"cut": 1, "subgame_iterations": 4, "resolve_iterations": 6}
    ),
}
"""The ways to solve.  Algorithms whose solutions are of another kind have tests of their own and no
row: linear programs, teams, correlated play, first-order methods, networks, abstractions."""


@cache
def compiled(name: str, cut: Any) -> Any:
    """A game of the corpus, compiled."""
    return compile_game(rules_of(name), cut=cut)


def solve_by(name: str, way: Way, folder: Path, **more: Any) -> Solution:
    """Solve a game of the corpus in one of the ways: the one place that knows the arguments.

    Args:
        name: The game.
        way: The way.
        folder: For files of the solver.
        more: Further arguments of ``solve``.
    """
    game = rules_of(name) if way.uncompiled else compiled(name, way.cut)
    algorithm: Any = CFR_D(**way.options) if way.algorithm == "cfr-d" else way.algorithm
    options: dict[str, Any] = {"checkpoints": (), "precision": way.precision or "float64"} | more
    if way.threads != 1:
        options["threads"] = way.threads
    if way.files:
        options["state_dir"] = folder / "state"
    if way.workers:
        options["cluster"] = FakeClient(way.workers)
    if not way.resumed:
        return solve(game, algorithm, iters=way.iters, **options)
    half = way.iters // 2
    path = solve(game, algorithm, iters=half, **options).save(folder / "half.npz", force=True)
    del options["precision"]
    if way.kind == "passes":
        options.pop("locks", None)
    return solve(game, start=Solution.load(path, game=game), iters=way.iters - half, **options)


# ------------------------------------------------------------------------------- the slow answers


@cache
def rules_of(name: str) -> Any:
    """The rules of a game of the corpus."""
    return GAMES[name].make()


@cache
def histories_of(name: str) -> Game:
    """The rules history by history."""
    rules = rules_of(name)
    return DealtCards(rules) if isinstance(rules, CardGame) else as_game(rules)


@cache
def tree_of(name: str) -> Tree:
    """The game as the slow computations see it."""
    return build_tree(histories_of(name))


@cache
def locks_of(name: str) -> Rows:
    """Strategies for about a third of the infosets with a choice, uneven ones."""
    found, alike = {}, GAMES[name].alike
    choices = {label: len(i.actions) for label, i in tree_of(name).infosets.items()}
    kinds = list(dict.fromkeys(alike(label) for label, n in choices.items() if n > 1))
    for label, n in choices.items():
        if n > 1 and (nth := kinds.index(alike(label))) % 3 == 1:
            found[label] = normalized([1.0 + (action + nth) % n for action in range(n)])
    return found


@cache
def slow_passes(name: str, iters: int, *, locked: bool) -> tuple[Rows, Rows]:
    """Average strategies after some iterations of CFR+, and the strategies of the next one."""
    slow = LockedCFR(
        tree_of(name),
        locks_of(name) if locked else {},
        regret_matching_plus=True,
        average_power=1,
        alternating=True,
    )
    for _ in range(iters):
        slow.iterate()
    return slow.average_policy(), slow.current_policy()


@cache
def slow_decomposition(name: str) -> Rows:
    """Average strategies of CFR-D, by label."""
    rules, way = rules_of(name), SOLVE["CFR-D"]
    root = rules.node(rules.root())
    steps = root.outcomes if isinstance(root, Chance) else root.actions
    found = cfr_d(
        rules,
        [[(step,) for step in steps]],
        way.iters,
        inner=way.options["subgame_iterations"],
        resolving=way.options["resolve_iterations"],
        alternating=False,
    )
    rows: Rows = {}
    for public, strategies in found.items():
        for player in range(2):
            for number, hand in enumerate(rules.hands[player]):
                label = rules.label(player, hand, public)
                infoset = tree_of(name).infosets.get(label)
                if infoset is not None and len(infoset.actions) == len(strategies):
                    rows[label] = strategies[:, number].tolist()
    return rows


class Line(NamedTuple):
    """The histories of a public node, one for each pair of hands."""

    steps: tuple[str, ...]
    """The labels of the public steps that lead there."""
    node: Any
    """A decision, a chance node or an end, as the rules say it."""
    deals: list[tuple[tuple[int, ...], Any, Any]]
    """The numbers of the hands, the state of the rules, and the history of the slow game."""


def _moves(node: Any) -> list[Any]:
    return list(node.outcomes if isinstance(node, Chance) else getattr(node, "actions", ()))


def _label(name: str, node: Any, move: Any) -> str:
    rules = rules_of(name)
    dealt = isinstance(rules, CardGame) and isinstance(node, Chance)
    return str(rules.cards[move] if dealt else move)


def start_of(name: str) -> Line:
    """The public node after the deal."""
    game = histories_of(name)
    deals: list[tuple[Any, Any, Any]] = [((), game.root(), tree_of(name).root)]
    for _ in range(2):
        deals = [
            ((*hands, hand), game.next(state, hand), child)
            for hands, state, at in deals
            for hand, child in zip(_moves(game.node(state)), at.children, strict=True)
        ]
    return Line((), game.node(deals[0][1]), deals)


def after(name: str, line: Line, label: str) -> Line:
    """The public node after a step; deals for which it is impossible are left out."""
    game, deals = histories_of(name), []
    for hands, state, at in line.deals:
        node = game.node(state)
        for move, child in zip(_moves(node), at.children, strict=True):
            if _label(name, node, move) == label:
                deals.append((hands, game.next(state, move), child))
    return Line((*line.steps, label), game.node(deals[0][1]), deals)


@cache
def later_decision(name: str) -> Line:
    """The first public node with a choice after a step of public chance, within three steps; where
    chance is not that near, after any step."""
    game, todo, found = histories_of(name), [(start_of(name), False)], []
    while todo:
        line, dealt = todo.pop(0)
        if line.steps and isinstance(line.node, Decision) and len(line.node.actions) > 1:
            if dealt:
                return line
            found.append(line)
        if len(line.steps) < 3:
            nodes = [game.node(state) for _, state, _ in line.deals]
            labels = dict.fromkeys(_label(name, node, m) for node in nodes for m in _moves(node))
            dealt = dealt or isinstance(line.node, Chance)
            todo += [(after(name, line, label), dealt) for label in labels]
    return found[0]


def hand_label(name: str, player: int, hand: int) -> str:
    """What a hand is called."""
    rules = rules_of(name)
    if isinstance(rules, CardGame):
        return rules.hand_label(player, hand)
    return str(rules.hands[player][hand])


def values_by_hand(name: str, line: Line, policy: Rows, player: int) -> dict[str, float]:
    """What a best response of a player gets at a public node with each hand, if the others play
    the policy; hands that are never dealt there are left out."""
    slow, game = SlowValues(tree_of(name), policy), histories_of(name)
    total: Counter[int] = Counter()
    worth: Counter[int] = Counter()
    for hands, _, at in line.deals:
        others, state, here = 1.0, game.root(), tree_of(name).root
        steps = iter(line.steps)
        for depth in range(2 + len(line.steps)):
            node = game.node(state)
            step = None if depth < 2 else next(steps)
            nth, move = next(
                (n, m)
                for n, m in enumerate(_moves(node))
                if (m == hands[depth] if step is None else _label(name, node, m) == step)
            )
            if isinstance(node, Chance):
                others *= list(node.outcomes.values())[nth]
            elif node.player != player:  # type: ignore[union-attr]
                others *= policy[node.infoset][nth]  # type: ignore[union-attr, index]
            state, here = game.next(state, move), here.children[nth]  # type: ignore[union-attr]
        assert here is at
        total[hands[player]] += others  # type: ignore[assignment]
        worth[hands[player]] += others * slow.best_worth(at, player)  # type: ignore[assignment]
    return {hand_label(name, player, h): worth[h] / total[h] for h in total if total[h] > 0}


# ------------------------------------------------------------------------------- the ways to look


@dataclass(eq=False)
class Made:
    """A solution of a game of the corpus, with the slow answers about it."""

    name: str
    way: Way
    folder: Path

    @cached_property
    def solution(self) -> Solution:
        return solve_by(self.name, self.way, self.folder)

    @property
    def game(self) -> Any:
        """The game, compiled; where the rules are solved, as one flat form."""
        return compiled(self.name, False) if self.way.uncompiled else self.solution.game

    @cached_property
    def rows(self) -> Rows:
        """The average strategy by label: what all looks but the first are compared with."""
        return rows_of(self.name, self.solution.policy)

    @cached_property
    def slow(self) -> SlowValues:
        return SlowValues(tree_of(self.name), self.rows)

    @property
    def slack(self) -> float:
        return GAMES[self.name].slack

    @property
    def evaluated(self) -> float:
        """How far values that a solve works out may be off, beyond :attr:`slack`: those of short
        numbers are worked out in them."""
        paid = [abs(u) for at in tree_of(self.name).nodes() for u in getattr(at, "utilities", ())]
        return 1e-6 * max(paid) if self.way.precision else 0.0

    def close(self, found: Any, expected: Any, what: str, slack: float = 0.0) -> None:
        """Numbers agree to rounding, and are unknown in the same places."""
        np.testing.assert_allclose(
            found, expected, rtol=self.slack, atol=self.slack + slack, err_msg=what
        )

    def close_rows(self, found: Rows, expected: Rows, slack: float = 0.0) -> None:
        assert set(found) == set(expected)
        for label, row in expected.items():
            self.close(found[label], row, label, slack)


def rows_of(name: str, policy: Any) -> Rows:
    """A policy by label, with the labels and actions of the rules; where a table has no infoset,
    the strategy is uniform."""
    infosets, rows = tree_of(name).infosets, {}
    found = {label: dict(policy[label]) for label in policy}
    assert set(found) <= set(infosets)
    for label, infoset in infosets.items():
        actions = list(map(str, infoset.actions))
        row = found.get(label, dict.fromkeys(actions, 1 / len(actions)))
        assert list(row) == actions, label
        rows[label] = [float(p) for p in row.values()]
    return rows


def look_at_policy(made: Made) -> None:
    """Average strategies by infoset label; to the bit those of a solve without a break."""
    way, policy = made.way, made.solution.policy
    if not way.uncompiled:
        assert set(policy) == set(tree_of(made.name).infosets)
        assert len(policy) == len(tree_of(made.name).infosets)
    if way.kind == "passes":
        expected, _ = slow_passes(made.name, way.iters, locked=False)
        made.close_rows(made.rows, expected, way.slack)
    elif way.kind == "subgames" and GAMES[made.name].kind == "hands":
        made.close_rows(made.rows, slow_decomposition(made.name))
    else:
        uniform = SlowValues(
            tree_of(made.name), {k: [1 / len(v)] * len(v) for k, v in made.rows.items()}
        )
        lost = [sum(slow.best_responses) - sum(slow.values) for slow in (made.slow, uniform)]
        assert lost[0] < 0.9 * lost[1], lost
    if way.resumed:
        whole = solve_by(made.name, replace(way, resumed=False), made.folder)
        assert rows_of(made.name, whole.policy) == made.rows


def look_at_last(made: Made) -> None:
    """The strategies of the next iteration, by infoset label."""
    rows = rows_of(made.name, made.solution.last_policy)
    if made.way.kind == "passes":
        _, expected = slow_passes(made.name, made.way.iters, locked=False)
        made.close_rows(rows, expected, made.way.slack)
    else:
        for label, row in rows.items():
            made.close(sum(row), 1.0, label)


def look_at_arrays(made: Made) -> None:
    """Probabilities by sequence, in the order of the game's infosets."""
    game, policy = made.game, made.solution.policy
    assert len(policy.probabilities) == game.n_numbers
    labels = [label for player in range(game.n_players) for label in game.labels_of(player)]
    assert len(labels) == game.n_infosets == len(made.rows)
    for label in labels:
        numbers = game.locate(label).numbers
        assert policy.probabilities[numbers].tolist() == made.rows[label]
        assert policy.at(numbers).tolist() == made.rows[label]


def look_at_table(made: Made) -> None:
    """One row for each action of each infoset; a dictionary for each player."""
    found = list(policy_table(made.solution.policy).rows())
    wanted = rows_met(made, {row[1] for row in found})
    expected = [
        (infoset.player, label, str(action), p)
        for label, infoset in tree_of(made.name).infosets.items()
        if label in wanted
        for action, p in zip(infoset.actions, wanted[label], strict=True)
    ]
    assert sorted(found) == sorted(expected)
    for player in range(tree_of(made.name).n_players):
        own = made.solution.policy.to_dict(player)
        assert {(player, label) for label in own} == {row[:2] for row in found if row[0] == player}
        assert all(made.rows[label] == list(row.values()) for label, row in own.items())


def rows_met(made: Made, found: set[str]) -> Rows:
    """The rows that are expected of a table that has ``found``: those of all infosets, but on rules
    of those that samples met."""
    met = found if made.way.uncompiled else set(made.rows)
    return {label: row for label, row in made.rows.items() if label in met}


def look_at_exports(made: Made) -> None:
    """CSV and JSON, read by Python's own modules and by the library, to the bit."""
    policy, folder = made.solution.policy, made.folder
    with save_policy(policy, folder / "policy.csv").open(encoding="utf-8", newline="") as file:
        rows: Rows = {}
        for row in csv.DictReader(file):
            rows.setdefault(row["infoset"], []).append(float(row["probability"]))
    wanted = rows_met(made, set(rows))
    assert rows == wanted
    written = json.loads(save_policy(policy, folder / "policy.json").read_text(encoding="utf-8"))
    assert {label: list(row.values()) for label, row in written.items()} == wanted
    if wanted != made.rows:
        return  # A table without some infosets is no policy of the compiled game.
    for suffix in ("csv", "json"):
        back = read_policy(made.game, folder / f"policy.{suffix}")
        assert rows_of(made.name, back) == made.rows


def look_at_evaluation(made: Made) -> None:
    """Expected values, best responses, exploitability: of the solve, and asked for later."""
    slow, n = made.slow, tree_of(made.name).n_players
    later = evaluate(made.game, made.solution.policy)
    made.close(later.values, slow.values, "values")
    made.close(later.best_responses, slow.best_responses, "best responses")
    if made.way.uncompiled:
        assert math.isnan(made.solution.exploitability)
        return
    own = made.solution.evaluation
    slack = made.evaluated
    made.close(own.values, slow.values, "values of the solve", slack)
    made.close(own.best_responses, slow.best_responses, "best responses of the solve", slack)
    expected = (sum(slow.best_responses) - sum(slow.values)) / n
    made.close(made.solution.exploitability, expected, "exploitability", slack)


def look_at_values(made: Made) -> None:
    """Reaches, values, regrets and losses at every infoset."""
    game, found = made.game, values(made.game, made.solution.policy)
    for rows in (rows for player in range(game.n_players) for rows in found.rows(player)):
        for at, label in enumerate(rows.infosets.labels):
            expected, row = made.slow.at(label), np.array(made.rows[label])
            made.close(rows.own_reach[at], expected.own, label)
            made.close(rows.counterfactual_reach[at], expected.others, label)
            made.close(rows.counterfactual[at], expected.value, label)
            made.close(rows.best[at], expected.best, label)
            made.close(rows.regret[at], expected.value - row @ expected.value, label)
            loss = expected.own * (max(expected.best) - row @ expected.best)
            made.close(rows.loss[at], loss, label)
            gain = max(expected.best) - row @ expected.value
            regret = rows.conditional_regret[at]
            assert np.isnan(regret) == (expected.others == 0.0)
            made.close(np.nan_to_num(regret) * expected.others, gain * (expected.others > 0), label)
    table = found.table().to_dict()
    assert set(table) == set(made.rows)


def look_at_locks(made: Made) -> None:
    """A solve in which a third of the infosets is locked, by label."""
    locks, infosets = locks_of(made.name), tree_of(made.name).infosets
    given = {
        label: dict(zip(map(str, infosets[label].actions), row, strict=True))
        for label, row in locks.items()
    }
    solution = solve_by(made.name, made.way, made.folder, locks=given)
    rows = rows_of(made.name, solution.policy)
    for label, row in locks.items():
        made.close(rows[label], row, label, made.way.slack)
    if made.way.kind == "passes":
        expected, _ = slow_passes(made.name, made.way.iters, locked=True)
        made.close_rows(rows, expected, made.way.slack)
    slow = SlowValues(tree_of(made.name), rows, locks)
    made.close(solution.evaluation.values, slow.values, "values", made.evaluated)
    best = solution.evaluation.best_responses
    made.close(best, slow.best_responses, "best responses", made.evaluated)


def look_at_files(made: Made) -> None:
    """Saved and loaded: the same strategies, values and state, to the bit."""
    one = made.solution
    path = one.save(made.folder / "solution.npz")
    other = Solution.load(path, game=one.game)
    assert rows_of(made.name, other.policy) == made.rows
    assert rows_of(made.name, other.last_policy) == rows_of(made.name, one.last_policy)
    if not made.way.uncompiled:
        assert other.evaluation == one.evaluation
    assert (other.iterations, other.algorithm) == (one.iterations, one.algorithm)
    further = [
        rows_of(made.name, solve(start.game, start=start, iters=2, checkpoints=()).policy)
        for start in (one, other)
    ]
    assert further[0] == further[1]


def look_at_certificate(made: Made) -> None:
    """The program without the package proves values and best responses."""
    path = made.solution.certify(made.folder / "solution.cert")
    proven = checker.check(path.read_text(encoding="utf-8"))
    for player in range(tree_of(made.name).n_players):
        numbers = [float(proven[f"{what} {player}"]) for what in ("value", "best response")]
        expected = made.slow.values[player], made.slow.best_responses[player]
        made.close(numbers, expected, f"player {player}")


def boot_of(page: str) -> dict[str, Any]:
    """The data in a page of the viewer."""
    found = re.search(r'<script type="application/json" id="boot">(.*?)</script>', page, re.S)
    assert found is not None
    return dict(json.loads(found[1]))


def rows_in(value: Any) -> Iterator[dict[str, Any]]:
    """The rows about infosets in the data of the viewer."""
    if isinstance(value, dict):
        if "infoset" in value and isinstance(value.get("p"), list):
            yield value
        for one in value.values():
            yield from rows_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from rows_in(one)


def look_at_viewer(made: Made) -> None:
    """Probabilities, reaches and values of every infoset in the viewer's page."""
    page = save_html(made.solution, made.folder / "page.html").read_text(encoding="utf-8")
    boot, seen = boot_of(page), set()
    assert set(boot) >= {"about", "nodes"}
    for row in rows_in(boot["nodes"]):
        label = row["infoset"]
        seen.add(label)
        at, p = made.slow.at(label), made.rows[label]
        shown: dict[str, Any] = {
            "p": p,
            "own": at.own,
            "others": at.others,
            "reach": at.own * at.others,
        }
        shown["loss"] = at.own * (max(at.best) - float(np.dot(p, at.best)))
        if at.others > 0:
            shown["q"] = [value / at.others for value in at.value]
            shown["ev"] = float(np.dot(p, at.value)) / at.others
        for key, expected in shown.items():
            np.testing.assert_allclose(
                row[key], expected, rtol=1e-5, atol=1e-9, err_msg=f"{key} of {label}"
            )
    assert seen == set(made.rows)


def look_at_resolving(made: Made) -> None:
    """Alternative values and values of both players' resolved strategies at a public node."""
    line = None if GAMES[made.name].kind == "histories" else later_decision(made.name)
    at = "start" if line is None else " ".join(line.steps)
    game, policy, infosets = made.solution.game, made.solution.policy, tree_of(made.name).infosets
    for player in range(2):
        found = resolve(game, policy, at, player=player, algorithm="cfr+", iters=10)
        assert line is not None, "there is a subgame where nothing is public"
        (one,) = found.subgames
        assert one.player == player
        rows = resolved_rows(made, found)
        for against, array in ((made.rows, one.alternative), (rows, one.values)):
            expected = values_by_hand(made.name, line, against, 1 - player)
            by_hand = dict(zip(one.hands, array.tolist(), strict=True))
            assert {h for h, value in by_hand.items() if not math.isnan(value)} == set(expected)
            for hand, value in expected.items():
                made.close(by_hand[hand], value, hand, made.slack)
        below = labels_below(line)
        for label, row in made.rows.items():
            if label not in below or infosets[label].player != player:
                made.close(rows[label], row, label)


def resolved_rows(made: Made, found: Resolution) -> Rows:
    """All strategies after one player has resolved; by the labels of the subgame where the game has
    no place for them, since it merges hands."""
    if not made.solution.game.merges_hands:
        return rows_of(made.name, found.policy)
    with pytest.raises(ValueError, match="compile it with symmetry=False"):
        _ = found.policy
    (one,) = found.subgames
    new = {label: list(row.values()) for label, row in one.followed.policy.items()}
    infosets = tree_of(made.name).infosets
    return {
        label: new[label] if label in new and infosets[label].player == one.player else row
        for label, row in made.rows.items()
    }


def labels_below(line: Line) -> set[str]:
    """The infosets below a public node."""
    below, todo = set[str](), [at for _, _, at in line.deals]
    while todo:
        at = todo.pop()
        below |= {at.infoset.label} if hasattr(at, "infoset") else set()
        todo += getattr(at, "children", ())
    return below


def look_at_play(made: Made) -> None:
    """A play that follows the strategy: hands, steps, probabilities and what is paid."""
    match = Match(made.solution.game, made.solution.policy, resolve_after=None, seed=3)
    match.deal()
    line = start_of(made.name)
    assert match.hands in {hands for hands, _, _ in line.deals}
    for step in match.steps:
        line = after(made.name, line, step)
    while not match.is_over:
        at = {h: a for h, _, a in line.deals}[match.hands]
        assert match.to_act == at.infoset.player
        assert match.actions == tuple(map(str, at.infoset.actions))
        row = match.probabilities()
        made.close(list(row.values()), made.rows[at.infoset.label], at.infoset.label)
        done = len(match.steps)
        match.act(match.actions[len(match.steps) % len(match.actions)])
        for step in match.steps[done:]:
            line = after(made.name, line, step)
    paid = {h: a for h, _, a in line.deals}[match.hands].utilities
    made.close(match.utilities(), paid, "utilities")


LOOK: dict[str, Callable[[Made], None]] = {
    "policy by label": look_at_policy,
    "last iterate": look_at_last,
    "arrays": look_at_arrays,
    "table": look_at_table,
    "CSV, JSON": look_at_exports,
    "evaluation": look_at_evaluation,
    "values": look_at_values,
    "locks": look_at_locks,
    "save, load": look_at_files,
    "certificate": look_at_certificate,
    "viewer": look_at_viewer,
    "resolve": look_at_resolving,
    "play": look_at_play,
}


# ------------------------------------------------------------------------ what each pair must give


class Refused(NamedTuple):
    """The library says that it does not do this."""

    error: type[Exception]
    words: str
    """A regular expression that the message has."""


class Hole(NamedTuple):
    """Nobody promises this, or a promise is broken: with the reason."""

    reason: str
    error: type[Exception] | None = None
    """How it fails today; the test says when it does no more.  None: it is not tried."""


class Weak(NamedTuple):
    """Compared with less than an equal answer."""

    reason: str


SAMPLED = Weak(
    "the numbers of a sampled strategy are only less exploitable than the uniform ones here; that "
    "iterations are right is in tests/sampling, that rules give the same in tests/uncompiled"
)
DECOMPOSED = Weak("CFR-D of games of cards equals a slow one in tests/subgames/test_card_subgames")
LAST = Weak("only sums to 1: the last iterate of this algorithm has no slow twin")
MET = Hole("a table of rules has the infosets that were met, in no order of the game")


def expected(name: str, way_name: str, look: str) -> Refused | Hole | Weak | None:
    """What is not compared in full, and why; None for what is."""
    way, kind = SOLVE[way_name], GAMES[name].kind
    players = tree_of(name).n_players
    if (refused := refused_solve(name, way_name)) is not None:
        return refused
    if look == "locks" and way.kind != "passes":
        return Refused(ValueError, "takes no locks: the variants that pass over the whole game do")
    if way.uncompiled:
        if look in ("resolve", "play", "certificate"):
            return Refused(TypeError, "game must be a compiled game")
        if look == "viewer":
            return Refused(AttributeError, "is not compiled and has no")
        if look == "arrays":
            return MET
    is_own = name in ("random cards", "two deals", "three hands")
    if look == "certificate" and is_own and way.cut is not False:
        return Refused(ValueError, "the checker lacks the rules of this game")
    if look == "certificate" and way.cut and kind == "hands":
        return Refused(ValueError, "in chunks, and a certificate .* needs a flat game")
    if look in ("resolve", "play") and (kind == "histories" or players > 2):
        words = "(is|games) (for|of) two players" if players > 2 else "not a game of private hands"
        return Refused(ValueError, words)
    if way.kind == "samples" and look == "policy by label":
        return SAMPLED
    if way.kind == "subgames" and look == "policy by label" and kind == "cards":
        return DECOMPOSED
    return LAST if look == "last iterate" and way.kind != "passes" else None


def refused_solve(name: str, way_name: str) -> Refused | None:
    """Why the game cannot be solved in the way, if it cannot."""
    way, kind = SOLVE[way_name], GAMES[name].kind
    if kind == "cards" and way.uncompiled and tree_of(name).n_players > 2:
        return Refused(GameError, "has 3 players, so it must be compiled")
    whole = way.cut is False or name == "river"
    if whole and not way.uncompiled and way.kind == "passes":
        remedy = "; compile it with cut=True" if way.cut is False else ", and .* has nothing to cut"
        if way.precision == "int16":
            return Refused(ValueError, f"takes int16 only for games in chunks{remedy}")
        if way.files or way.workers:
            words = "is for variants that pass over .* games in chunks"
            return Refused(ValueError, f"{words}{remedy}")
    if way.uncompiled and way.kind == "passes":
        return Refused(ValueError, "needs a compiled game")
    if way.cut and kind == "histories":
        return Refused(
            ValueError, "only games of two can be cut|cannot cut .*: cut= needs private hands"
        )
    if way.kind == "subgames" and (kind == "histories" or tree_of(name).n_players > 2):
        return Refused(ValueError, "zero-sum|of two players|not a game of private hands")
    return None


def applies(name: str, way_name: str) -> bool:
    """Whether the way is one for the game: a game of cards is cut at each deal from a number on."""
    return not (GAMES[name].kind == "cards" and SOLVE[way_name].cut in (2, (1, 2)))


def check(made: Made, way_name: str, look: str) -> None:
    """A pair gives what it must."""
    wanted = expected(made.name, way_name, look)
    if wanted is None or isinstance(wanted, Weak):
        LOOK[look](made)
        return
    if wanted.error is None:
        return
    with pytest.raises(wanted.error, match=getattr(wanted, "words", None)):
        LOOK[look](made)


# ---------------------------------------------------------------------------------------- the tiers

TINY = ("kuhn",)
"""Games of which all ways to solve are fast."""
FAST_WAYS: dict[str, Collection[str]] = {
    "random hands": ("as compiled", "cut at 1", "cut at 1 and 2", "cfr+ on rules"),
    "goofspiel": ("flat", "flat, resumed", "external sampling"),
    "random histories": ("flat", "outcome sampling", "outcome on rules"),
    "own rules": ("flat", "external sampling", "external on rules"),
    "gambit": ("flat", "chance sampling"),
    "merged suits": ("flat", "cut at 1", "external sampling", "CFR-D"),
    "many terminals": ("flat", "cut at 1", "chance sampling"),
    "three players": ("flat", "cut at 1", "chance sampling", "external on rules"),
    "river": ("as compiled", "flat, cluster"),
    "turn": ("as compiled",),
    "random cards": ("as compiled", "cut, in files", "cut, cluster", "cut, resumed"),
    "two deals": ("cut at 1", "cut, cluster"),
    "three hands": ("as compiled", "cut, cluster"),
}
"""Of other games those that are fast."""
DEAR: dict[str, Collection[str]] = {
    "flat, 2 threads": ("locks",),
    "flat, float32": ("locks",),
    "cut, float32": ("locks", "viewer"),
    "cut, int16": ("locks", "viewer"),
}
"""Looks that compile kernels which no other fast test needs."""


def is_fast(name: str, way_name: str, look: str) -> bool:
    """Whether a pair is for the fast tier."""
    if look == "locks" and (GAMES[name].kind == "cards" or name == "many terminals"):
        return False
    if look in DEAR.get(way_name, ()):
        return False
    return name in TINY or way_name in FAST_WAYS.get(name, ())


# ---------------------------------------------------------------------------------------- the table


def table() -> tuple[list[str], dict[tuple[str, str], str], dict[str, str]]:
    """The table of the pairs covered.

    Returns:
        The ways to look; for each way to solve and to look the text of the cell; for each mark in
        a cell its reason.
    """
    cells, reasons = {}, dict[str, str]()
    marks: dict[str, str] = {}
    for way_name in SOLVE:
        for look in LOOK:
            found = [expected(name, way_name, look) for name in GAMES if applies(name, way_name)]
            parts = []
            if full := sum(one is None for one in found):
                parts.append(str(full))
            for one in dict.fromkeys(o for o in found if isinstance(o, (Weak, Hole))):
                mark = marks.setdefault(one.reason, chr(ord("a") + len(marks)))
                reasons[mark] = one.reason
                count = found.count(one)
                parts.append(
                    f"{count} weak ({mark})" if isinstance(one, Weak) else f"hole ({mark})"
                )
            if refused := sum(isinstance(one, Refused) for one in found):
                parts.append("refused" if refused == len(found) else f"{refused} refused")
            cells[way_name, look] = ", ".join(parts)
    return list(LOOK), cells, reasons
