"""Subgames that end early: the opponent chooses among continuation strategies at the leaves."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from support.slow_subgames import Spot
from tensorcfr import Policy, compile_game, evaluate, resolve, solve
from tensorcfr.games import make_game
from tensorcfr.subgames.depth import expected_payoffs, leaves_below
from tensorcfr.subgames.roots import find_roots

KUHN = compile_game("kuhn")
EXACT = 1e-9


def weak() -> Policy:
    """Uneven strategies, in which every action is taken."""
    rng = np.random.default_rng(5)
    rows = {}
    for infoset, label in enumerate(KUHN.infoset_labels):
        weights = rng.uniform(0.2, 1.0, len(KUHN.infoset_actions[infoset]))
        rows[label] = dict(zip(KUHN.infoset_actions[infoset], weights / weights.sum(), strict=True))
    return Policy.from_mapping(KUHN, rows)


BLUEPRINT = weak()


def public_of(player: int) -> list[str]:
    """Public labels at which a player acts."""
    own = np.flatnonzero(KUHN.infoset_player == player).tolist()
    return sorted({KUHN.infoset_labels[infoset][1:] for infoset in own})


def pure_strategies(player: int) -> list[Policy]:
    """All pure strategies that do the same with every hand."""
    found = []
    where = public_of(player)
    actions = [KUHN.infoset_actions[KUHN.infoset_index[f"J{public}"]] for public in where]
    for chosen in product(*actions):
        rows = BLUEPRINT.to_dict()
        for public, action in zip(where, chosen, strict=True):
            rows |= {f"{hand}{public}": {action: 1.0} for hand in "JQK"}
        found.append(Policy.from_mapping(KUHN, rows))
    return found


def limited(at: str, player: int, depth: int, method: str, blueprint: Policy = BLUEPRINT):  # type: ignore[no-untyped-def]
    return resolve(
        KUHN,
        blueprint,
        at,
        player=player,
        method=method,
        algorithm="lp",
        depth_limit=depth,
        continuations=pure_strategies(1 - player),
    )


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("depth", [1, 2])
def test_with_all_continuations_values_are_those_of_the_whole_game(player: int, depth: int) -> None:
    """The opponent gets what the best response in the whole game gets."""
    found = limited("start", player, depth, "unsafe")
    best = evaluate(KUHN, found.policy).best_responses[1 - player]
    assert found.subgames[0].solution.value[1 - player] == pytest.approx(best, abs=EXACT)
    # Strategies below the leaves stay.
    deep = [label for label in BLUEPRINT if len(label) > depth]
    assert deep
    for label in deep:
        assert found.policy[label] == pytest.approx(BLUEPRINT[label])


@pytest.mark.full
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("depth", [1, 2])
def test_nothing_better_can_be_had_above_the_leaves(player: int, depth: int) -> None:
    """The value is that of the whole game with the player's infosets below the leaves locked."""
    found = limited("start", player, depth, "unsafe")
    own = {f"{hand}{public}" for hand in "JQK" for public in public_of(player)}
    locks = {label: BLUEPRINT[label] for label in own if len(label) > depth}
    whole = solve(KUHN, "cfr+", locks=locks, target=1e-6)
    assert found.subgames[0].solution.value == pytest.approx(whole.value, abs=1e-5)


@pytest.mark.parametrize("method", ["resolve", "maxmargin"])
def test_with_all_continuations_resolving_is_safe(method: str) -> None:
    before = evaluate(KUHN, BLUEPRINT).best_responses
    for at, player, depth in (("start", 0, 1), ("start", 1, 2), ("p", 1, 1), ("b", 1, 1)):
        found = limited(at, player, depth, method)
        assert found.least_margin >= -EXACT
        after = evaluate(KUHN, found.policy).best_responses
        assert after[1 - player] <= before[1 - player] + EXACT


def test_an_equilibrium_keeps_its_value() -> None:
    """Player 0 can expect -1/18 in Kuhn poker (H. W. Kuhn, 1950), and all continuations together
    keep the rest of the equilibrium safe.  With the blueprint alone, which is the default, only the
    value is known: against it bluffs cost nothing, and nobody adapts to them."""
    equilibrium = solve(KUHN, "lp").policy
    found = limited("start", 0, 1, "unsafe", equilibrium)
    assert found.subgames[0].solution.value[0] == pytest.approx(-1 / 18, abs=EXACT)
    assert evaluate(KUHN, found.policy).exploitability < EXACT
    options = {"player": 0, "method": "unsafe", "algorithm": "lp", "depth_limit": 1}
    alone = resolve(KUHN, equilibrium, "start", **options)
    named = resolve(KUHN, equilibrium, "start", **options, continuations=[equilibrium])
    np.testing.assert_array_equal(named.policy.probabilities, alone.policy.probabilities)
    assert alone.subgames[0].solution.value[0] == pytest.approx(-1 / 18, abs=EXACT)


def test_expected_payoffs_are_those_of_both_strategies() -> None:
    """Summed over the deals from the root on they are the values of the game."""
    roots = find_roots(KUHN, "start")
    nodes = roots.nodes
    other = pure_strategies(1)[1]
    paid = expected_payoffs(nodes, 0, (BLUEPRINT, other))
    mixed = BLUEPRINT.to_dict() | {
        label: row
        for label, row in other.items()
        if KUHN.infoset_player[KUHN.infoset_index[label]] == 1
    }
    expected = evaluate(KUHN, mixed).values
    np.testing.assert_allclose(
        (paid * nodes.deal_probability(0)).sum(axis=(1, 2)), expected, atol=1e-12
    )
    assert len(leaves_below(roots, 1)) == 2
    assert len(leaves_below(roots, 2)) == 1
    assert not leaves_below(roots, 3)


def test_expected_payoffs_count_cards_that_are_dealt() -> None:
    """In Leduc a card comes between the root and the ends."""
    leduc = compile_game("leduc")
    nodes, policy = find_roots(leduc, "start").nodes, Policy.uniform(leduc)
    paid = expected_payoffs(nodes, 0, (policy, policy))
    expected = evaluate(leduc, policy).values
    np.testing.assert_allclose(
        (paid * nodes.deal_probability(0)).sum(axis=(1, 2)), expected, atol=1e-12
    )


def test_leduc_is_worth_as_much_as_by_a_slow_linear_program() -> None:
    """One step after the call only player 1 acts, so player 0 keeps the blueprint."""
    leduc = compile_game("leduc")
    uniform = Policy.uniform(leduc)
    calls = Policy.from_mapping(leduc, {label: {"call": 1.0} for label in leduc.infoset_labels})
    slow, moved, rows = Spot(make_game("leduc"), ("call",)), [], dict(uniform)
    for player, depth, method in ((0, 1, "resolve"), (1, 1, "maxmargin"), (0, 2, "resolve")):
        (found,) = resolve(
            leduc,
            uniform,
            "call",
            player=player,
            method=method,
            algorithm="lp",
            depth_limit=depth,
            continuations=(uniform, calls),
        ).subgames
        best = slow.best_gadget(
            rows,
            player,
            found.alternative,
            margin=method == "maxmargin",
            depth=depth,
            continuations=(rows, dict(calls)),
        )
        value, total = found.solution.value, slow.weights(rows, 1 - player).sum()
        worth = value[player] if method == "maxmargin" else value[1 - player] * total
        assert worth == pytest.approx(best, abs=EXACT)
        moved.append(found.least_margin != pytest.approx(0, abs=EXACT))
    assert moved == [False, True, True]


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="continuations needs depth_limit"):
        resolve(KUHN, BLUEPRINT, "p", continuations=[BLUEPRINT])
    with pytest.raises(ValueError, match="depth_limit must be a whole number >= 1, not 0"):
        resolve(KUHN, BLUEPRINT, "p", depth_limit=0)
    with pytest.raises(ValueError, match="continuations names no policy"):
        resolve(KUHN, BLUEPRINT, "p", depth_limit=1, continuations=[])
    with pytest.raises(TypeError, match="continuations must be several policies"):
        resolve(KUHN, BLUEPRINT, "p", depth_limit=1, continuations=BLUEPRINT)
    leduc = Policy.uniform(compile_game("leduc"))
    with pytest.raises(ValueError, match=r"continuations\[1\]: .*leduc"):
        resolve(KUHN, BLUEPRINT, "p", depth_limit=1, continuations=[BLUEPRINT, leduc])
