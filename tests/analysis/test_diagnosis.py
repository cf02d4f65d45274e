"""Numbers of other programs next to CFR: wrong programs are named, right ones are not accused."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.command_line import USAGE, invoke, printed
from support.loop_programs import GAMES, WRONG, WrongProgram, run_program
from support.tiers import tiered
from tensorcfr import ALGORITHMS, CompiledGame, compile_game, solve
from tensorcfr.algorithms import CFR, CFR_PLUS
from tensorcfr.analysis import Diagnosis, diagnose
from tensorcfr.analysis.diagnosis import MAX_VISITS, MISTAKES
from tensorcfr.analysis.plain_loops import CORRECT, mistaken_loops
from tensorcfr.analysis.printed_numbers import _decimals, _match_action, find_infosets
from tensorcfr.games.kuhn import KuhnPoker


def flat(name: str) -> CompiledGame:
    return compile_game(name, cut=False)


def names_of(found: Diagnosis) -> list[str]:
    return [mistake.name for mistake in found.mistakes]


def name_of(wrong: WrongProgram) -> str:
    return f"{wrong.program}: {wrong.mistake}"


@pytest.mark.parametrize(
    "wrong",
    [
        # Leduc takes two seconds, and its mistakes are those of Kuhn.
        pytest.param(
            w, marks=pytest.mark.full if w.game or w.program == "leduc" else (), id=name_of(w)
        )
        for w in WRONG
    ],
)
def test_a_wrong_program_is_named(wrong: WrongProgram) -> None:
    game = flat(wrong.game or GAMES[wrong.program])
    tables = run_program(wrong.program, wrong.edits, wrong.iterations)
    found = diagnose(game, tables)
    assert names_of(found) == [wrong.mistake]
    assert MISTAKES[wrong.mistake].remedy in str(found)
    at = found.departure
    assert at is not None
    assert f"iteration {at.iteration}, infoset {at.infoset}" in str(found)
    if wrong.game is not None:
        return  # The edits change the game, too, so the program without them is another one.
    right = run_program(wrong.program, (), wrong.iterations)
    assert found.algorithm is not None
    if str(diagnose(game, right).algorithm).startswith(found.algorithm):
        # The numbers of CFR are those of the program without the edits, equal before.
        (label,) = (own for own, name in mapping(found, tables).items() if name == at.infoset)
        assert at.theirs == pytest.approx(numbers(tables[at.iteration][label]), abs=1e-9)
        assert at.ours == pytest.approx(numbers(right[at.iteration][label]), abs=1e-9)
        assert all(
            numbers(row) == pytest.approx(numbers(right[t][own]), abs=1e-6)
            for t in range(1, at.iteration)
            for own, row in tables[t].items()
        )


def mapping(found: Diagnosis, tables: dict[int, Any]) -> dict[str, str]:
    infosets = find_infosets(found.game, list(tables[max(tables)]))
    return {label: found.game.infoset_labels[own[0]] for label, own in infosets.items()}


def numbers(row: Any) -> list[float]:
    return list(row.values()) if isinstance(row, dict) else list(row)


def test_every_mistake_has_a_program() -> None:
    tested = {wrong.mistake for wrong in WRONG}
    untested = {"average by all reaches", "discount at each history, used at once"}
    assert set(MISTAKES) - tested == untested
    assert {name for name, _ in mistaken_loops()} <= set(MISTAKES)


def test_the_mistakes_without_a_program_of_their_own() -> None:
    edits = (("+= own_reach * strategy[a]", "+= p0 * p1 * strategy[a]"),)
    assert names_of(diagnose(flat("kuhn"), run_program("kuhn", edits, 8))) == [
        "average by all reaches"
    ]
    edits = (
        ("    new[key][a] += r\n", "    regret[key][a] = regret[key][a] * (t - 1) / t + r\n"),
        ("regret[key][a] = max(regret[key][a] + new[key][a], 0.0)", "pass"),
        (
            "    sigma = strategy.set",
            "    match(key) if key in strategy else None\n    sigma = strategy.set",
        ),
    )
    found = diagnose(flat("kuhn"), run_program("plus", edits, 12))
    assert names_of(found) == ["discount at each history, used at once"]


def test_two_mistakes_at_once() -> None:
    edits = (
        (
            "    strategy = node.strategy\n",
            "    node.update_strategy()\n    strategy = node.strategy\n",
        ),
        ("+= own_reach * strategy[a]", "+= other_reach * strategy[a]"),
    )
    found = diagnose(flat("kuhn"), run_program("kuhn", edits, 10))
    assert names_of(found) == ["used at once", "average by others"]


class TestRightPrograms:
    @pytest.mark.parametrize(
        ("program", "algorithm"),
        [
            ("kuhn", "cfr, all players in one pass, averaging weight 1"),
            ("plus", "cfr+, players in turn, averaging weight t"),
            ("leduc", "cfr, all players in one pass, averaging weight 1"),
        ],
    )
    def test_programs_of_tutorials(self, program: str, algorithm: str) -> None:
        iterations = 3 if program == "leduc" else 60
        found = diagnose(flat(GAMES[program]), run_program(program, (), iterations))
        assert found.is_cfr
        assert found.algorithm == algorithm
        assert found.departure is None

    def test_a_program_that_samples_is_not_accused(self) -> None:
        """The notebook of tutorials: a deal drawn at random in every iteration."""
        rng = random.Random(5)
        deals = [rng.sample((1, 2, 3), 2) for _ in range(20)]
        edit = ("in permutations((1, 2, 3), 2):", "in [DEALS[t - 1]]:")
        tables = run_program(
            "kuhn", (edit, ("PASS, BET = 0, 1", f"PASS, BET = 0, 1\nDEALS = {deals}")), 20
        )
        found = diagnose(flat("kuhn"), {20: tables[20]})
        assert not found.mistakes
        assert found.algorithm is None
        assert "A program that samples" in found.note

    def test_an_average_after_the_update(self) -> None:
        edits = (
            ("        node.strategy_sum[a] += own_reach * strategy[a]\n", ""),
            (
                "        node.update_strategy()\n\n",
                "        node.update_strategy()\n    for cards in permutations((1, 2, 3), 2):\n"
                '        add(cards, "", 1.0, 1.0)\n\n\n'
                "def add(cards, history, p0, p1):\n"
                "    if payoff(cards, history, 2) is not None:\n        return\n"
                "    player = len(history) % 2\n"
                '    node = nodes[f"{cards[player]}{history}"]\n'
                "    for a in (PASS, BET):\n"
                "        node.strategy_sum[a] += (p0, p1)[player] * node.strategy[a]\n"
                "        p = node.strategy[a]\n"
                "        reach = (p0 * p, p1) if player == 0 else (p0, p1 * p)\n"
                '        add(cards, history + "pb"[a], *reach)\n\n',
            ),
        )
        found = diagnose(flat("kuhn"), run_program("kuhn", edits, 30))
        assert found.is_cfr
        assert "1 from iteration 2 on" in str(found.algorithm)

    def test_clipped_sums_are_cfr_plus(self) -> None:
        edits = (
            (
                "positive = [max(r, 0.0) for r in self.regret_sum]",
                "positive = self.regret_sum = [max(r, 0.0) for r in self.regret_sum]",
            ),
        )
        found = diagnose(flat("kuhn"), run_program("kuhn", edits, 30))
        assert found.is_cfr
        assert str(found.algorithm).startswith("cfr+, all players in one pass, averaging weight 1")

    def test_regrets_in_another_scale(self) -> None:
        """The listing leaves out the probability of a deal: its regrets are six times as large."""
        edit = ("return {label: node.get_average_strategy()", "return {label: node.regret_sum")
        tables = run_program("kuhn", (edit,), 12)
        found = diagnose(flat("kuhn"), tables)
        assert (found.kind, found.is_cfr) == ("regrets", True)
        tables[7]["2pb"][1] += 0.25
        found = diagnose(flat("kuhn"), tables)
        assert found.departure is not None
        assert (found.departure.iteration, found.algorithm) == (7, None)

    def test_last_strategies_on_request(self) -> None:
        edit = ("return {label: node.get_average_strategy()", "return {label: node.strategy")
        assert diagnose(flat("kuhn"), run_program("kuhn", (edit,), 9), numbers_are="last").is_cfr

    @pytest.mark.parametrize(
        ("game", "settings"),
        tiered(
            product(("kuhn", "liars_dice(faces=2)", "leduc(ranks=2, raise_cap=1)"), CORRECT),
            [*product(["kuhn"], CORRECT), ("leduc(ranks=2, raise_cap=1)", CORRECT[-1])],
        ),
    )
    def test_strategies_of_the_engine(self, game: str, settings: Any) -> None:
        compiled = flat(game)
        record = ALGORITHMS[settings.rule](alternating=settings.alternating)
        marks = (1, 2, 3) if "leduc" in game else (1, 2, 3, 12)
        tables = {t: solve(compiled, record, iters=t).policy.to_dict() for t in marks}
        assert diagnose(compiled, tables).is_cfr


class WeightedKuhn(KuhnPoker):
    """Kuhn poker whose deck gives some deals more often."""

    def __init__(self) -> None:
        super().__init__()
        self.prior = np.array([[0, 1, 4], [2, 0, 1], [1, 3, 0]]) / 12


def test_deals_that_are_not_equally_likely() -> None:
    game = compile_game(WeightedKuhn(), cut=False)
    assert names_of(diagnose(game, run_program("kuhn", (), 8))) == ["chance missing"]
    weights = "{(1, 2): 1, (1, 3): 4, (2, 1): 2, (2, 3): 1, (3, 1): 1, (3, 2): 3}"
    edits = (
        ("other_reach * (util[a] - node_util)", "W[cards] * other_reach * (util[a] - node_util)"),
        ("PASS, BET = 0, 1", f"PASS, BET = 0, 1\nW = {weights}"),
    )
    assert diagnose(game, run_program("kuhn", edits, 8)).is_cfr
    twice = (("W[cards] * other", "W[cards] * W[cards] * other"),)
    edits = ((edits[0][0], edits[0][1].replace(*twice[0])), edits[1])
    assert names_of(diagnose(game, run_program("kuhn", edits, 8))) == ["chance twice"]


# ---------------------------------------------------------------------------------------- texts


def test_value_and_exploitability_of_a_printed_table() -> None:
    """The table of the Kuhn notebook: its columns are bet and pass, and it evaluates to -.05427,
    .01937 (an independent best response, by hand)."""
    text = """
History  Bet  Pass
J  :    [0.19339867 0.80660133]
Q  :    [0.00998004 0.99001996]
K  :    [0.66291148 0.33708852]
QB :    [0.30502981 0.69497019]
QC :    [0.02380952 0.97619048]
JB :    [0.00149254 0.99850746]
JC :    [0.34916518 0.65083482]
KB :    [0.99854227 0.00145773]
KC :    [0.99562682 0.00437318]
JCB:    [9.39219577e-04 9.99060780e-01]
QCB:    [0.6053928 0.3946072]
KCB:    [0.99779272 0.00220728]
"""
    found = diagnose(flat("kuhn"), text, iteration=6000)
    assert found.value[0] == pytest.approx(-0.05427, abs=5e-6)
    assert found.exploitability == pytest.approx(0.01937, abs=5e-6)
    assert "Nothing is compared" in found.note


@pytest.mark.parametrize(
    "line",
    [
        "{i}{lists} [{p} {b}]",
        "{card}{upper}: [{p}, {b}]",
        "{rank}{letters}: [{p}, {b}]",
        "{i} {letters} = [p: {p}, b: {b}]",
        ".{card}{words}   CHECK   {p}\n.{card}{words}   BET   {b}",
        "{i}{letters}  {p}  {b}",
        "| {card}{letters} | {p} | {b} |",
        "| {i}{letters} | {p} | {b} |",
        "'{card}{letters}': {{'bet': {b}, 'pass': {p}}},",
        "{high}{letters} {p} {b}",
    ],
)
def test_formats(line: str) -> None:
    """Rows as listings and notebooks print them."""
    policy = solve(flat("kuhn"), CFR(alternating=False), iters=5).policy
    lines = ["Iteration 5:", "strategies"]
    for own, row in policy.items():
        card, letters = own[0], own[1:]
        i = "JQK".index(card)
        lines.append(
            line.format(
                card=card,
                i=i,
                rank=i + 1,
                high="QKA"[i],
                letters=letters,
                upper=letters.upper().replace("P", "C"),
                lists=[int(a == "b") for a in letters] if letters else "[]",
                words="".join({"p": ".CHECK", "b": ".BET"}[a] for a in letters),
                p=f"{row['pass']:.9f}",
                b=f"{row['bet']:.9f}",
            )
        )
    found = diagnose(flat("kuhn"), "\n".join(lines))
    assert found.missing == ()
    assert (found.is_cfr, found.iterations) == (True, (5,))


def test_few_digits() -> None:
    tables = run_program("kuhn", (), 5)
    text = "\n".join(
        f"t = {t}\n" + "\n".join(f"{label}: [{p:.2f}, {b:.2f}]" for label, (p, b) in table.items())
        for t, table in tables.items()
    )
    assert diagnose(flat("kuhn"), text).is_cfr


def test_columns_in_reverse() -> None:
    tables = {
        t: {k: row[::-1] for k, row in table.items()}
        for t, table in run_program("kuhn", (), 5).items()
    }
    found = diagnose(flat("kuhn"), tables)
    assert "in reverse order" in found.note
    assert diagnose(flat("kuhn"), tables, actions=("bet", "pass")).is_cfr


def test_decimals() -> None:
    texts = ("0.25", "1", "9.39219577e-04", "1e-05", "2.5e3", "-.5")
    assert [_decimals(text) for text in texts] == [2, 0, 12, 5, 0, 1]


def test_check_and_call_share_a_letter() -> None:
    leduc, kuhn = flat("leduc"), flat("kuhn")
    labels = {"J": "J", "Qc": "Qp", "Kcb": "Kpb"}
    found = find_infosets(kuhn, list(labels))
    assert {label: kuhn.infoset_labels[own[0]] for label, own in found.items()} == labels
    assert _match_action(("pass", "bet"), "c", True) == 1
    assert _match_action(("fold", "call", "raise"), "check", False) == 1
    assert find_infosets(leduc, ["Js", "Qh", "Ks xbc/Jh"])["Ks xbc/Jh"] == [
        leduc.infoset_index["Ks crc/Jh"]
    ]


def test_labels_of_openspiel_and_ranks() -> None:
    leduc = flat("leduc")
    label = (
        "[Observer: 0][Private: 4][Round 1][Player: 0][Pot: 2][Money: 99 99]"
        "[Round1: 1 2 1][Round2: ][Public: 3]"
    )
    assert [leduc.infoset_labels[i] for i in find_infosets(leduc, [label])[label]] == ["Ks crc/Qh"]
    found = find_infosets(leduc, ["J", "Q", "K", "K cc/J r"])["K cc/J r"]
    assert {leduc.infoset_labels[i] for i in found} == {"Ks cc/Js r", "Kh cc/Js r"} | {
        "Ks cc/Jh r",
        "Kh cc/Jh r",
    } & {leduc.infoset_labels[i] for i in found}
    kuhn = flat("kuhn")
    assert find_infosets(kuhn, ["0", "1", "2", "2pb"])["2pb"] == [kuhn.infoset_index["Kpb"]]


@pytest.mark.parametrize(
    ("source", "arguments", "words"),
    [
        ({"J": [0.5, 0.5]}, {}, "iteration is missing"),
        ({"Z": [0.5, 0.5]}, {"iteration": 1}, "no infoset 'Z'"),
        ({"J": [0.5, 0.2, 0.3]}, {"iteration": 1}, "'J' has 3 numbers, but 2 actions"),
        ({"J": {"pass": 1, "jump": 0}}, {"iteration": 1}, "no action 'jump'"),
        ({"J": {"pass": 1}}, {"iteration": 1}, "'J' lacks a number"),
        ("nothing here\n", {"iteration": 1}, "no numbers of infosets"),
        ("J: [0.5, 0.5]\niteration 2\nJ: [0.5, 0.5]", {}, "before the first line"),
        ("t = 1\nJ: [0.5, 0.5]\nJ: [0.5, 0.5]", {}, "printed twice"),
        ({"J": [0.5, 0.5], "0": [0.5, 0.5]}, {"iteration": 1}, "infoset"),
        ({1: {"J": [1, 0]}}, {"actions": ("bet", "jump")}, "not the actions of kuhn: pass, bet"),
        ({1: {"J": [0.9, 0.9]}}, {"numbers_are": "strategies"}, "do not sum to 1"),
    ],
)
def test_bad_input(source: Any, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        diagnose(flat("kuhn"), source, **arguments)


def test_a_wrong_type() -> None:
    with pytest.raises(TypeError, match="numbers must be a mapping"):
        diagnose(flat("kuhn"), 3)
    with pytest.raises(TypeError, match="actions must be a list"):
        diagnose(flat("kuhn"), {1: {"J": [1, 0]}}, actions="bet,pass")


def test_late_iterations_are_evaluated_only() -> None:
    t = MAX_VISITS
    found = diagnose(flat("kuhn"), {"J": [0.8, 0.2]}, iteration=t)
    assert "Nothing is compared" in found.note
    assert "K" in found.missing


def test_the_command(tmp_path: Path) -> None:
    wrong = next(wrong for wrong in WRONG if wrong.mistake == "average by others")
    tables = run_program(wrong.program, wrong.edits, 5)
    path = tmp_path / "printed.txt"
    lines = [
        f"iteration {t}\n" + "\n".join(f"{k}: {row}" for k, row in table.items())
        for t, table in tables.items()
    ]
    path.write_text("\n".join(lines))
    text = printed("diagnose", path, "--game", "kuhn")
    assert MISTAKES["average by others"].problem in text
    assert "iteration 2, infoset Qp" in text
    assert '"name": "average by others"' in printed("diagnose", path, "--json")
    path.write_text("J: [0.5, 0.5]")
    assert invoke("diagnose", path).exit_code == USAGE


def test_cfr_plus_of_the_engine_with_its_defaults() -> None:
    kuhn = flat("kuhn")
    tables = {t: solve(kuhn, CFR_PLUS, iters=t).policy for t in (2, 9)}
    assert diagnose(kuhn, tables).is_cfr


def test_chips_of_no_limit_leduc() -> None:
    """The listing's labels: card, board card, actions as chips; 0 folds or checks."""
    game = flat("nl_leduc(ranks=2, stack=3)")
    found = find_infosets(game, ["0[]", "1[]", "0[1]", "1[0]"])
    names = {label: [game.infoset_labels[i] for i in own] for label, own in found.items()}
    assert names["0[]"] == ["Qs", "Qh"]
    assert names["0[1]"] == ["Qs 1", "Qh 1"]
    assert names["1[0]"] == ["Ks c", "Kh c"]
