"""Every public function that returns numbers by infoset, action, history or hand, in every layout.

A row of the table is a public name (:data:`ROWS`), a column a layout of a game (:data:`LAYOUTS`).
A cell compares the numbers in the layout with those of the same game in one flat form in which
nothing is merged.  Numbers are compared by label, never by their place in an array.  Public names
that return no such numbers are in :data:`OTHER`, with the reason.
"""

from __future__ import annotations

import importlib
import json
import math
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import tensorcfr
from support import ways
from tensorcfr import (
    CompiledGame,
    Policy,
    Solution,
    Solver,
    belief,
    best_response,
    compile_game,
    evaluate,
    exploitability,
    load_game,
    nash_conv,
    put_back,
    resolve,
    save_game,
    solve,
    subgame,
)
from tensorcfr.analysis import (
    aivat,
    best_responses,
    compare,
    conditional_regrets,
    hand_table,
    head_to_head,
    history_values,
    iteration_events,
    model_locks,
    regrets,
    robust_responses,
    simulate,
    values,
    walkthrough,
)
from tensorcfr.evaluation import exact_equilibrium, expected_values
from tensorcfr.formats import find_policy, policy_table, read_policy, save_policy
from tensorcfr.games.holdem import Holdem
from tensorcfr.plots import find_node, infoset_chart, public_nodes, strategy_chart
from tensorcfr.subgames import Match, subgame_roots
from tensorcfr.viewer import save_html

ITERATIONS = 4
LEDUC, DICE = "nl_leduc(stack=2)", "liars_dice(faces=2)"
LOCKED = {
    "Qs": {"c": 0.25, "1": 0.75},
    "Qh": {"c": 0.25, "1": 0.75},
    "Ks c 1": {"f": 0.5, "c": 0.5},
    "Kh c 1": {"f": 0.5, "c": 0.5},
}
"""Locks that do not tell apart suits, which the game merges."""


class LeftOutError(Exception):
    """A row is not for this layout; says why."""


@dataclass(frozen=True)
class Layout:
    """A layout of a game, and the same game in one flat form without merging."""

    make: Callable[[], CompiledGame]
    reference: Callable[[], CompiledGame]
    locks: Mapping[str, Mapping[str, float]] | None = None


def _apart(name: str) -> Callable[[], CompiledGame]:
    return lambda: compile_game(name, cut=False, symmetry=False)


def _cut(name: str, cut: Any, **locks: Any) -> Layout:
    return Layout(lambda: compile_game(name, cut=cut), _apart(name), **locks)


def _of_cards(make: Callable[[], CompiledGame]) -> Layout:
    return Layout(make, lambda: make().flat().without_merging())


def _folded() -> CompiledGame:
    return compile_game(
        Holdem(
            board="Td9d6hQd",
            ranges=("AhAs,KdKc", "QsQh,8h8s"),
            pot=100,
            stacks=150,
            bets={"turn": "", "river": "a"},
            folded=("AA,KK,AK,QJ", "random,!top 25%"),
        )
    )


LAYOUTS: dict[str, Layout] = {
    "merged": _cut(LEDUC, False),
    "merged, forced": _cut(DICE, False),
    "chunked": _cut(LEDUC, 1),
    "chunked, forced": _cut(DICE, 1),
    "cut twice": _cut(LEDUC, (1, 2)),
    "cards": _of_cards(lambda: ways.compiled("turn", None)),
    "three hands": _of_cards(lambda: ways.compiled("three hands", None)),
    "folded": _of_cards(_folded),
    "locked, merged": _cut(LEDUC, False, locks=LOCKED),
    "locked, chunked": _cut(LEDUC, 1, locks=LOCKED),
}
"""The columns.  Liar's dice has decisions with one action, which merging and cutting omit."""


@dataclass(eq=False)
class Case:
    """A game in one layout, solved."""

    game: CompiledGame
    locks: Mapping[str, Mapping[str, float]] | None
    is_of_cards: bool
    folder: Any

    @cached_property
    def solution(self) -> Solution:
        """A few iterations of CFR+."""
        return self.solved("cfr+", ITERATIONS)

    @cached_property
    def other(self) -> Policy:
        """Another policy."""
        return self.solved("cfr", 2).policy

    def solved(self, algorithm: str, iterations: int) -> Solution:
        """Solve without checkpoints in double precision."""
        return solve(
            self.game,
            algorithm,
            iters=iterations,
            locks=self.locks,
            checkpoints=(),
            precision="float64",
        )

    @property
    def policy(self) -> Policy:
        return self.solution.policy

    @property
    def lines(self) -> list[str]:
        """Names of the public decisions before which somebody acts, a few of them."""
        if self.game.nodes is None:
            raise LeftOutError("histories of three players have no public nodes")
        nodes, found = self.game.nodes, []
        for player in range(self.game.n_players):
            for node in nodes.deciding(player):
                path = [step.label for step in nodes.path(node)]
                if 0 < len(path) <= 2:
                    found.append(" ".join(path))
        return sorted(found)[:4]


# -------------------------------------------------------------------------------------- the rows


def _evaluation(found: Any) -> Any:
    return [found.values, found.best_responses]


def _rows_of_values(case: Case) -> Any:
    return values(case.game, case.policy).table().to_dict()


def _value_rows(case: Case) -> Any:
    """The rows of both players, and those of some infosets alone."""
    found = values(case.game, case.policy)
    return {
        label: [getattr(rows, name)[at] for name in ("own_reach", "best", "loss", "mean", "regret")]
        for rows in found.all_rows()
        for at, label in enumerate(rows.infosets.labels)
    }


def _best_response(case: Case) -> Any:
    """Values, and what the responses are worth; ties are broken by rounding, so strategies may
    differ."""
    found = []
    for player in range(2):
        one = best_response(case.game, case.policy, player, locks=case.locks)
        found.append([one.value, expected_values(case.game, one.policy)[player]])
    return found


def _best_responses(case: Case) -> Any:
    return [
        [one.value, expected_values(case.game, one.policy)[player]]
        for player, one in enumerate(best_responses(case.game, case.policy))
    ]


def _comparison(case: Case) -> Any:
    found = compare(case.policy, case.other)
    return [
        {row.infoset: row[1:] for row in found.differences(None)},
        found.distance,
        [_evaluation(one) for one in found.evaluations],
    ]


def _head_to_head(case: Case) -> Any:
    return head_to_head(case.game, [case.policy, case.other]).values


def _conditional(case: Case) -> Any:
    found = conditional_regrets(case.game, case.policy)
    spreads = found.everywhere, found.on_own_path
    return [found.unreached, [[one.largest, one.mean, one.infosets] for one in spreads]]


def _histories(case: Case) -> Any:
    found = history_values(case.game, case.policy)
    return {
        case.game.history(node): [found.value[node], found.reach[node], found.counterfactual[node]]
        for node in range(case.game.n_histories)
    }


def _regrets(case: Case) -> Any:
    found = regrets(case.game, "cfr", checkpoints=[2], locks=case.locks)
    return [
        [dict(zip(case.game.infoset_labels, p.infoset, strict=True)), p.overall, p.played]
        for p in found
    ]


def _responses(case: Case) -> Any:
    found = robust_responses(
        case.game,
        case.policy.to_dict(1),
        0,
        weights=[0.5],
        algorithm="dcfr",
        iters=3,
        precision="float64",
    )
    return [found.gain, found.risk, found.gaps]


def _models(case: Case) -> Any:
    found = []
    for method in ("restricted", "data-biased"):
        locks = model_locks(case.game, case.policy, 1, 0.5, method=method)
        found.append(evaluate(case.game, case.solution.policy, locks=locks).best_responses)
    return found


def _sums(case: Case) -> Any:
    return {label: list(sums) for label, sums in case.solution.sums.items()}


def _solver(case: Case) -> Any:
    solver = Solver(case.game, "cfr+", locks=case.locks, precision="float64")
    solver.iterate(2)
    return [
        {label: list(sums) for label, sums in solver.sums.items()},
        solver.average_policy().to_dict(),
        solver.current_policy().to_dict(),
        _evaluation(solver.evaluate()),
        _evaluation(solver.evaluate_current()),
    ]


def _solution(case: Case) -> Any:
    found = case.solution
    return [
        found.policy.to_dict(),
        found.last_policy.to_dict(),
        _evaluation(found.evaluation),
        found.exploitability,
        found.nodes_touched,
        found.decision_nodes_touched,
    ]


def _policy(case: Case) -> Any:
    policy = case.policy
    return [
        {label: dict(policy[label]) for label in policy},
        Policy.uniform(case.game).to_dict(),
        [policy.to_dict(player) for player in range(case.game.n_players)],
        Policy.from_mapping(case.game, policy.to_dict()).to_dict(),
    ]


def _moved(case: Case) -> Any:
    return find_policy(case.game, policy_table(case.policy).to_dict()).to_dict()


def _walkthrough(case: Case) -> Any:
    if case.locks:
        raise LeftOutError("takes no locks")
    # Rounding alone may change an infoset, which is then shown.
    return [
        {row.infoset: vars(row) for row in iteration.rows if np.ptp(row.new_regret) > 1e-9}
        for iteration in walkthrough(case.game, "cfr", iters=2).iterations
    ]


def _iteration_events(case: Case) -> Any:
    if case.locks:
        raise LeftOutError("takes no locks")
    events = iteration_events(case.game, "cfr", iters=2, most=10**6)
    labels = [infoset.label for infoset in events.infosets]
    return [
        {labels[one.infoset]: (one.instant, one.new_regret) for one in update.learned}
        for iteration in events.iterations
        for update in iteration.updates
    ]


def _hand_names(case: Case) -> Any:
    return {
        line: [belief(case.game, case.policy, line).hands(player) for player in range(2)]
        for line in case.lines
    }


def _subgames(case: Case) -> Any:
    """A subgame from a belief, its values, and its strategies put back."""
    found = {}
    for line in case.lines[:2]:
        believed = belief(case.game, case.policy, line)
        part = subgame(case.game, believed)
        own = solve(part, "cfr+", iters=3, checkpoints=())
        found[line] = [believed.reach, own.policy.to_dict(), _evaluation(own.evaluation)]
    return found


def _put_back(case: Case) -> Any:
    if case.game.merges_hands:
        raise LeftOutError("a game that merges hands has no numbers for one of them")
    part = subgame(case.game, belief(case.game, case.policy, case.lines[0]))
    own = solve(part, "cfr+", iters=3, checkpoints=())
    return put_back(case.policy, own.policy).to_dict()


def _resolve(case: Case) -> Any:
    found = {}
    for player in range(2):
        (one,) = resolve(
            case.game, case.policy, case.lines[-1], player=player, algorithm="cfr+", iters=4
        ).subgames
        rows = zip(one.hands, one.alternative.tolist(), one.values.tolist(), strict=True)
        found[player] = [{hand: numbers for hand, *numbers in rows}, one.margins]
    return found


def _match(case: Case) -> Any:
    match, found = Match(case.game, case.policy, resolve_after=None, seed=3), []
    match.deal()
    while not match.is_over:
        found.append([match.hand(match.to_act), match.probabilities()])
        match.act(match.actions[len(found) % len(match.actions)])
    return [found, match.utilities(), match.adjusted_utilities()]


def _simulate(case: Case) -> Any:
    """Plays are drawn otherwise in each layout: their means are those of the exact values."""
    plays = simulate(case.game, case.policy, 2000, seed=1)
    exact = np.array(expected_values(case.game, case.policy))
    assert (np.abs(plays.mean - exact) < 5 * plays.standard_error).all()
    rows = case.policy.to_dict()
    for player in range(case.game.n_players):
        for label, row in plays.counts(player).items():
            n = sum(row.values())
            for action, p in rows[label].items():
                assert abs(row.get(action, 0) - n * p) <= 6 * math.sqrt(n * p * (1 - p)) + 3
    return expected_values(case.game, case.policy)


def _aivat(case: Case) -> Any:
    """Luck that is known in full leaves the exact value of each play."""
    plays = simulate(case.game, case.policy, 50, seed=1)
    found = aivat(plays, case.policy, known=[0, 1])
    exact = np.array(expected_values(case.game, case.policy))
    assert np.abs(found.utilities - exact).max() < 1e-9
    return exact


def _viewer(case: Case) -> Any:
    page = save_html(case.solution, case.folder / "page.html").read_text(encoding="utf-8")
    keys = ("p", "q", "ev", "own", "others", "reach", "loss", "conditional_regret")
    return {
        row["infoset"]: [row.get(key) for key in keys]
        for row in ways.rows_in(ways.boot_of(page)["nodes"])
    }


def _texts(figure: Any) -> Any:
    return sorted(text.get_text() for axes in figure.axes for text in axes.texts)


def _charts(case: Case) -> Any:
    return {line: _texts(strategy_chart(case.solution, line)) for line in case.lines}


def _infoset_chart(case: Case) -> Any:
    figure = infoset_chart(case.solution, player=0, most=400)
    return [_texts(figure), sorted(t.get_text() for t in figure.axes[0].get_yticklabels())]


def _public_nodes(case: Case) -> Any:
    return {
        line: [find_node(case.game, line).actions, sorted(find_node(case.game, line).hands)]
        for line in case.lines
    }


def _written(case: Case) -> Any:
    path = save_policy(case.policy, case.folder / "policy.json")
    return json.loads(path.read_text(encoding="utf-8"))


def _read(case: Case) -> Any:
    path = save_policy(case.policy, case.folder / "policy.csv")
    return read_policy(case.game, path).to_dict()


def _loaded(case: Case) -> Any:
    """The values of a policy in the game that was saved and loaded."""
    if case.game.is_of_cards:
        raise LeftOutError("files of spots keep the rules: tests/storage compares them")
    game = load_game(save_game(case.game, case.folder / "game.npz"))
    return values(game, case.policy.to_dict()).table().to_dict()


def _hand_table(case: Case) -> Any:
    """The table of each line; of the flat game the same numbers, from its values."""
    if not case.is_of_cards:
        raise LeftOutError("is for games of cards")
    found: dict[str, Any] = {}
    if case.game.is_of_cards:
        for line in case.lines:
            table = hand_table(case.solution, line)
            rows = zip(table.hands, table.strategy, table.values, strict=True)
            found |= {f"{hand} {line}": list(numbers) for hand, *numbers in rows}
        return found
    for rows in values(case.game, case.policy).all_rows():
        for at, label in enumerate(rows.infosets.labels):
            if label.partition(" ")[2] in case.lines:
                found[label] = [rows.probability[at], rows.expected[at]]
    return found


def _exact(case: Case) -> Any:
    """Equilibria may differ; their value is one."""
    if case.locks:
        raise LeftOutError("takes no locks")
    return [float(x) for x in exact_equilibrium(case.game).values]


ROWS: dict[str, Callable[[Case], Any]] = {
    "solve": lambda case: case.policy.to_dict(),
    "Solution": _solution,
    "Solution.sums": _sums,
    "Solver": _solver,
    "Policy": _policy,
    "policy_table": lambda case: policy_table(case.policy).to_dict(),
    "find_policy": _moved,
    "evaluate": lambda case: _evaluation(evaluate(case.game, case.policy, locks=case.locks)),
    "exploitability": lambda case: exploitability(case.game, case.policy, locks=case.locks),
    "nash_conv": lambda case: nash_conv(case.game, case.policy, locks=case.locks),
    "expected_values": lambda case: expected_values(case.game, case.policy),
    "best_response": _best_response,
    "best_responses": _best_responses,
    "exact_equilibrium": _exact,
    "values": _rows_of_values,
    "Values": _value_rows,
    "compare": _comparison,
    "head_to_head": _head_to_head,
    "conditional_regrets": _conditional,
    "history_values": _histories,
    "regrets": _regrets,
    "robust_responses": _responses,
    "model_locks": _models,
    "walkthrough": _walkthrough,
    "iteration_events": _iteration_events,
    "simulate": _simulate,
    "aivat": _aivat,
    "belief": _hand_names,
    "subgame": _subgames,
    "put_back": _put_back,
    "resolve": _resolve,
    "Match": _match,
    "subgame_roots": lambda case: sorted(subgame_roots(case.game, 1)),
    "hand_table": _hand_table,
    "save_html": _viewer,
    "strategy_chart": _charts,
    "infoset_chart": _infoset_chart,
    "find_node": _public_nodes,
    "public_nodes": lambda case: sorted(public_nodes(case.game)),
    "save_policy": _written,
    "read_policy": _read,
    "save_game": _loaded,
}
"""Public names, and the numbers that they give for a case, by label."""


# ------------------------------------------------------------------------------------ the cells


def differences(found: Any, wanted: Any, place: str = "") -> Iterator[str]:
    """List where two nested answers differ, in words."""
    if isinstance(wanted, Mapping):
        if set(found) != set(wanted):
            yield f"{place}: other keys, {sorted(map(str, set(found) ^ set(wanted)))[:3]}"
            return
        for key in wanted:
            yield from differences(found[key], wanted[key], f"{place}/{key}")
    elif isinstance(wanted, str) or wanted is None:
        if found != wanted:
            yield f"{place}: {found!r}, not {wanted!r}"
    elif isinstance(wanted, (list, tuple)):
        if len(found) != len(wanted):
            yield f"{place}: {len(found)} entries, not {len(wanted)}"
            return
        for at, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, f"{place}[{at}]")
    elif not np.allclose(found, wanted, rtol=1e-9, atol=1e-9, equal_nan=True):
        yield f"{place}: {found}, not {wanted}"


def check(row: str, layout: str, cases: tuple[Case, Case]) -> str:
    """Compare a cell of the table.

    Returns:
        ``"equal"``, ``"refused: ..."`` or ``"-: ..."``.

    Raises:
        AssertionError: The numbers differ.
    """
    case, reference = cases
    try:
        found, wanted = ROWS[row](case), ROWS[row](reference)
    except LeftOutError as reason:
        return f"-: {reason}"
    except (TypeError, ValueError) as error:
        if row in NEEDS_FLAT and not case.game.is_flat and "game.flat()" in str(error):
            return "refused: game.flat()"
        if row in NEEDS_TWO and case.game.n_players > 2 and ONLY_TWO.search(str(error)):
            return "refused: two players"
        raise
    wrong = list(differences(found, wanted))
    assert not wrong, f"{row} of {layout}: {len(wrong)} numbers differ: {wrong[:4]}"
    return "equal"


NEEDS_FLAT = {
    "best_response",
    "best_responses",
    "exact_equilibrium",
    "history_values",
    "regrets",
    "walkthrough",
    "iteration_events",
}
"""Rows that need arrays over all sequences or histories, and say so in games in chunks."""
NEEDS_TWO = {
    "robust_responses",
    "model_locks",
    "aivat",
    "belief",
    "subgame",
    "put_back",
    "resolve",
    "Match",
    "subgame_roots",
    "save_html",
}
"""Rows that need two players, or payoffs of a constant sum, and say so of a game of three."""
ONLY_TWO = re.compile("two players|this needs two|is not constant")


def cases_of(layout: str, folder: Any) -> tuple[Case, Case]:
    """Make the game in a layout, and its reference."""
    of = LAYOUTS[layout]
    game = of.make()
    games = game, of.reference()
    one, other = (Case(made, of.locks, game.is_of_cards, folder) for made in games)
    return one, other


# ------------------------------------------------------------------------------ public names

RULES = "rules of games, or a part of them"
RECORD = "a record that a row above reads, or an error"
PLACES = "a game, a file or an object of another program; its strategies go through `find_policy`"
SETTINGS = "algorithms, options and stop rules: no game is in them"
PICTURE = "a picture of numbers that a row above compares, or of no single infoset"
PRIZES = "tables of hands, as `hand_table` returns them: of tournaments, or of two solutions"
SAME_NUMBERS = "the same numbers in a game of the same layout, evaluated by `evaluate`"
SIZES = "counts of a whole game"
PRIVATE_PARTS = "arrays of one layout, in that layout's own numbers, and checks of them"
OWN_SOLVER = "a solver of its own; its strategies are read through `Solution`, its sums refused"
SAMPLES = "samples of plays on rules, which have no layout"
ABSTRACTED = "abstractions lay the game out first, and number the infosets of the flat form"
SMALL = "solves one flat form without merging"
PLAYED = "played hands, or solved spots, which are read by `Values` and `evaluate`"
SWEEPS = "figures of whole solves"

REASONS: dict[str, str] = {
    RULES: """
        CardGame Chance Deal Decision Fold Game GAMES Payoff PublicTreeGame Runout Showdown SidePots
        Terminal UncompiledGame BucketedCards board_names
    """,
    RECORD: """
        BestIterate BestResponse Evaluation TracePoint Status Progress GameError
        MemoryLimitError Belief Resolution ResolvedSubgame Roots Comparison
        ConditionalRegrets Difference Exactness HandTable HeadToHead HistoryValues Interval
        Plays AdjustedPlays RegretPoint RegretSpread RobustResponses Walkthrough
        LocalBestResponse SampledValues CorrelatedPlan CorrelationGap ExactEquilibrium
        TeamEquilibrium TeamExploitability SequenceTable GameSize CompileProgress
        QuantalResponse QuasiPerfect DeepState SolvedSpot Runouts
        BoardReport Batch Batched ByLine Situation Departure Diagnosis Mistake IterationEvents
        IterationPage PrizeTable DepthChart TableChange
    """,
    PLACES: """
        compile_game load_game resolve_rules from_gambit from_openspiel parse_spot
        openspiel_bot policy_to_gambit policy_to_openspiel policy_to_pyspiel read_efg read_nfg
        read_spot read_spot_options save_efg save_nfg save_spot spot_text to_gambit to_openspiel
        CompiledGame FlatGame TablePolicy UpiSession mcp_server
    """,
    SETTINGS: """
        Algorithm ALGORITHMS AUTOMATIC LocalRule Locks register find_algorithm from_dict
        AgentDescent Correlated Decomposition Deep ExcessiveGap LinearProgram Record
        Sampling
    """,
    PICTURE: """
        LiveProgress change_grid check_format convergence depth_grid draw draw_line
        gain_against_risk hand_grid has_hands is_kuhn iteration_page iteration_tree kuhn_stages
        runout_grid sweep_curves tree_source view widget
    """,
    PRIZES: """
        prize_table depth_chart table_change
    """,
    SAME_NUMBERS: """
        IncentivePrice incentive_prices restate
    """,
    SIZES: """
        game_size traffic_of
    """,
    PRIVATE_PARTS: """
        ARRAYS KINDS PayoffBlocks PayoffCards PayoffEntries PayoffFiveCards PayoffPart PayoffSubsets
        PayoffThreeHands PayoffThreeOrders PayoffTriples
        count_entries empty_part magnitudes product triples
    """,
    OWN_SOLVER: """
        SampledSolver ClusterSolver DeepSolver DecomposedSolver Mixture NetworkPolicy
        make_features TeamGame team_game team_best_response team_equilibrium
        team_exploitability correlation_gap forget_subgames
    """,
    SAMPLES: """
        local_best_response sampled_values solve_boards
    """,
    ABSTRACTED: """
        AbstractGame abstract abstract_cards abstract_hands buckets_by_future
        buckets_by_label buckets_by_strength lift
    """,
    SMALL: """
        diagnose quantal_responses quasi_perfect
    """,
    PLAYED: """
        PlayedDecision DecisionCounts Failure Frequency HabitPrice Hand HandModel HandsRead Leak
        LeakReport ModelledDecision PricedDecision HandSituation count_decisions find_leaks
        habit_prices hand_model hands_of_plays parse_hands phh_text ranges_of_hands read_hands
        save_hands stars_text
    """,
    SWEEPS: """
        Cell LEVELS Reached StopRules SweepProgress SweepRow SweepTable curves reached
        read_algorithm
        read_sweep sweep
    """,
}
"""The names, by reason."""
OTHER = {name: reason for reason, names in REASONS.items() for name in names.split()}
"""Public names that are in no row, and why."""


def public_names() -> set[str]:
    """Return all names in the ``__all__`` of the packages, records of algorithms left out."""
    found: set[str] = set()
    for module in pkgutil.iter_modules(tensorcfr.__path__):
        if module.ispkg and not module.name.startswith("_"):
            package = importlib.import_module(f"tensorcfr.{module.name}")
            found |= set(getattr(package, "__all__", ()))
    found |= set(tensorcfr.__all__)
    return {name for name in found if not is_record(name)}


def is_record(name: str) -> bool:
    """Return whether a name is that of a record of an algorithm."""
    return isinstance(getattr(tensorcfr.algorithms, name, None), tensorcfr.algorithms.Record)
