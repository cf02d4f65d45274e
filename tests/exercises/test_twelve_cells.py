"""The notebook "CFR in twelve cells": its answers pass, and planted mistakes are named."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest

from support.paths import DOCS
from tensorcfr.exercises import CASES, ExerciseError, check

NOTEBOOK = DOCS / "notebooks" / "cfr_in_twelve_cells.ipynb"
CALL = re.compile(r'^check\("(?P<name>[^"]+)", (?P<function>\w+)\)$', re.MULTILINE)


def cells() -> list[tuple[str, str]]:
    """Kinds and texts of the cells."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def answers() -> dict[str, str]:
    """The hidden answers, by exercise: each is in the text cell after the exercise."""
    listed, found = cells(), {}
    for (_, text), (_, after) in pairwise(listed):
        if call := CALL.search(text):
            answer = re.search(r"<details>.*```python\n(.*?)```", after, re.DOTALL)
            assert answer is not None, call["name"]
            found[call["name"]] = answer[1]
    return found


def run_notebook(
    edits: dict[str, tuple[str, str]] | None = None, filled: bool = True
) -> dict[str, str]:
    """Run the notebook; with the answers in place of the empty functions, after edits of some,
    which alone are checked then."""
    scope: dict[str, Any] = {}
    results = {}
    for kind, text in cells():
        if kind != "code":
            continue
        call = CALL.search(text)
        if call is None:
            exec(text, scope)
            continue
        name = call["name"]
        code = answers()[name] if filled else text[: call.start()]
        if edits and name in edits:
            old, new = edits[name]
            assert code.count(old) == 1, (name, old)
            code = code.replace(old, new)
        exec(code, scope)
        if not edits or name in edits:
            results[name] = check(name, scope[call["function"]])
    return results


def test_the_exercises_are_those_of_the_checks() -> None:
    assert list(answers()) == list(CASES)
    assert len(CASES) == 12


def test_the_answers_pass(capsys: pytest.CaptureFixture[str]) -> None:
    results = run_notebook()
    assert all("right" in result for result in results.values())
    sides = re.findall(r"= (-?[\d.]+), .* = (-?[\d.]+)", capsys.readouterr().out)
    assert len(sides) == 3
    assert all(float(left) == pytest.approx(float(right), abs=1e-11) for left, right in sides)


def test_an_empty_notebook_runs() -> None:
    results = run_notebook(filled=False)
    assert all(result.endswith("not filled in yet") for result in results.values())


PLANTED = [
    ("regret matching", "np.maximum(regret, 0)", "np.abs(regret)", "not abs"),
    ("regret matching", "np.maximum(regret, 0)", "regret", "negative regrets"),
    (
        "regret matching",
        "np.where(total > 0, positive / np.where(total > 0, total, 1), 1 / regret.shape[1])",
        "positive",
        "not divided by their sum",
    ),
    ("regret matching", ", 1 / regret.shape[1])", ", 0)", "play uniformly"),
    ("reaches", "reach[child, player] *=", "reach[child] *=", "and no other"),
    ("reaches", "reach[child, 2] *= tree.probability[child]", "pass", "chance has a reach"),
    ("values", "strategy[tree.infoset[h], a]\n", "0.5\n", "not equally"),
    ("values", "= tree.utility", "= -tree.utility", "signs of the players"),
    (
        "counterfactual reach",
        "reach[:, 1] * reach[:, 2], reach[:, 0] * reach[:, 2]",
        "reach[:, 1], reach[:, 0]",
        "chance is one of the others",
    ),
    (
        "counterfactual reach",
        "reach[:, 1] * reach[:, 2], reach[:, 0] * reach[:, 2]",
        "reach[:, 0] * reach[:, 2], reach[:, 1] * reach[:, 2]",
        "own reach times chance",
    ),
    (
        "counterfactual reach",
        "reach[:, 1] * reach[:, 2], reach[:, 0] * reach[:, 2]",
        "reach.prod(axis=1), reach.prod(axis=1)",
        "own reach is left out",
    ),
    (
        "regrets",
        "counterfactual_reach(reaches(tree, strategy))",
        "reaches(tree, strategy)",
        "does not weight a regret",
    ),
    ("regrets", "weight[h, player] * gain", "gain", "weighted by the counterfactual reach"),
    (
        "regrets",
        "value[child, player] - value[h, player]",
        "value[h, player] - value[child, player]",
        "sign is reversed",
    ),
    ("strategy sums", "own[:, None] * strategy", "strategy", "weighted by the player's own reach"),
    (
        "strategy sums",
        "] = reach[h, tree.player[h]]",
        "] += reach[h, tree.player[h]]",
        "add it once",
    ),
    (
        "strategy sums",
        "= reach[h, tree.player[h]]",
        "+= counterfactual_reach(reach)[h, tree.player[h]]",
        "not the counterfactual reach",
    ),
    ("cfr", "sums += strategy_sums(tree, strategy)", "sums += strategy", "not weighted by a reach"),
    ("cfr", "regret += regrets", "regret = regrets", "Only the regrets of the last iteration"),
    (
        "cfr",
        "regret += regrets(tree, strategy)",
        "regret += np.maximum(regrets(tree, strategy), 0)",
        "Negative regrets of an iteration are not added",
    ),
    ("cfr", "return normalise(sums)", "return regret_matching(regret)", "not the average"),
    (
        "players in turn",
        "            strategy = regret_matching(regret)\n",
        "            strategy = regret_matching(regret) if player == 0 else strategy\n",
        "another algorithm: cfr, all players in one pass",
    ),
    (
        "cfr+",
        "sums[own] += t * strategy",
        "sums[own] += strategy",
        "another algorithm: cfr+, players in turn, averaging weight 1",
    ),
    (
        "cfr+",
        "np.maximum(regret[own] + regrets(tree, strategy)[own], 0)",
        "regret[own] + regrets(tree, strategy)[own]",
        "another algorithm: cfr, players in turn",
    ),
    ("best response", "[0, player]", "[0, 1 - player]", "value of the other player"),
    (
        "best response",
        "return values(tree, response)",
        "return values(tree, strategy)",
        "value of the strategy",
    ),
    (
        "sampling",
        "reach[h, 1 - player] * gain",
        "reach[h, 1 - player] * reach[h, 2] * gain",
        "do not multiply by it again",
    ),
    (
        "sampling",
        "visit = np.zeros((N_INFOSETS, 2)), [deal]",
        "visit = np.zeros((N_INFOSETS, 2)), [0]",
        "all deals are in it",
    ),
    ("sampling", "reach[h, 1 - player] * gain", "gain", "weighted by the other player's reach"),
    (
        "theorem 1",
        "normalise(sum(strategy_sums(tree, strategy) for strategy in strategies))",
        "normalise(sum(strategies))",
        "weights each strategy by the player's own reach",
    ),
    (
        "theorem 1",
        "sum(best - values(tree, average)[0])",
        "sum(best - values(tree, average)[0]) / 2",
        "not half of it",
    ),
    ("theorem 1", "sum(best - played),", "len(strategies) * sum(best - played),", "divide by T"),
]


@pytest.mark.parametrize(("exercise", "old", "new", "words"), PLANTED)
def test_a_planted_mistake_is_named(exercise: str, old: str, new: str, words: str) -> None:
    with pytest.raises(ExerciseError, match=re.escape(words)):
        run_notebook({exercise: (old, new)})


def clairvoyant(tree: Any, strategy: Any, player: int) -> float:
    """A best response that sees the other's card."""

    def value(h: int) -> float:
        below = [value(c) for c in range(tree.first_child[h], tree.first_child[h + 1])]
        if tree.player[h] == -2:
            return float(tree.utility[list(tree.terminal).index(h), player])
        if tree.player[h] == player:
            return max(below)
        weights = (
            strategy[tree.infoset[h]]
            if tree.player[h] >= 0
            else [tree.probability[c] for c in range(tree.first_child[h], tree.first_child[h + 1])]
        )
        return float(sum(p * v for p, v in zip(weights, below, strict=True)))

    return value(0)


def test_a_player_who_sees_the_other_card() -> None:
    with pytest.raises(ExerciseError, match="sees the other's card"):
        check("best response", clairvoyant)


def test_answers_of_wrong_types() -> None:
    with pytest.raises(ExerciseError, match=r"the shape is \(2,\), not"):
        check("reaches", lambda tree, strategy: [1.0, 2.0])
    with pytest.raises(ExerciseError, match="not an array of numbers"):
        check("reaches", lambda tree, strategy: "text")
    with pytest.raises(ValueError, match="no exercise 'reach'"):
        check("reach", lambda: None)


def test_answers_are_compared_to_all_digits() -> None:
    def nearly(reach: Any) -> Any:
        return reach[:, [1, 0]] * reach[:, 2:] + 2e-12

    with pytest.raises(ExerciseError, match="counterfactual reach: "):
        check("counterfactual reach", nearly)
    result = check("counterfactual reach", lambda reach: nearly(reach) - 2e-12)
    assert result == "counterfactual reach: right, 3 comparisons"
