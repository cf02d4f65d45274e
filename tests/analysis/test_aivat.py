"""Payoffs without luck: against the definition over all histories, and how far spreads shrink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.card_games import RandomCards
from support.equality import as_game
from support.random_games import random_game, random_public_tree_game
from support.reference import Policy as Rows
from support.reference import build_tree
from support.slow_aivat import SlowAivat, SlowPlay, adjusted_of_histories
from support.slow_values import SlowValues
from support.tiers import tiered
from support.ways import GAMES, compiled, rows_of, rules_of, tree_of
from tensorcfr import CompiledGame, Policy, compile_game, evaluate, solve
from tensorcfr.analysis import Plays, aivat, head_to_head, simulate
from tensorcfr.analysis.simulation import deal
from tensorcfr.games import make_game
from tensorcfr.model.arrays import CHANCE, TERMINAL
from tensorcfr.model.public_nodes import PublicNodes
from tensorcfr.subgames import Match

BOTH, FIRST, SECOND = "01", "0", "1"


def made_up(game: CompiledGame, iters: int) -> Policy:
    """The policy of a few iterations, mixed with a uniform one, so that it goes everywhere."""
    solved = solve(
        game, "cfr+", iters=iters, checkpoints=(), precision="float64"
    ).policy.probabilities
    return Policy(game, 0.75 * solved + 0.25 * Policy.uniform(game).probabilities)


def recorded(game: CompiledGame, plays: list[SlowPlay]) -> Plays:
    """Plays that were worked out slowly, as if they had been drawn."""
    nodes, longest = game.nodes, max(len(play.lines) for play in plays)
    assert nodes is not None
    path = np.full((len(plays), longest), -1)
    path[:, 0] = 0
    for row, play in zip(path, plays, strict=True):
        for depth, line in enumerate(play.lines[1:], start=1):
            steps = {step.label: step.node for step in nodes.children(int(row[depth - 1]))}
            row[depth] = steps[line.steps[-1]]
    utilities = np.array([play.utilities for play in plays])
    return Plays(game, utilities, path, np.array([play.hands for play in plays]))


@pytest.mark.parametrize(
    ("name", "cut", "known"),
    tiered(
        [
            (name, cut, known)
            for name, corpus in GAMES.items()
            if corpus.kind != "histories"
            for cut in (False, 1)
            for known in (BOTH, FIRST, SECOND)
        ],
        fast=[
            ("kuhn", False, FIRST),
            ("kuhn", 1, SECOND),
            ("random hands", 1, BOTH),
            ("random hands", False, FIRST),
            ("random cards", 1, SECOND),
        ],
    ),
)
def test_equals_the_definition(name: str, cut: Any, known: str, interpreted: None) -> None:
    """Every play, and the sum over all plays with their probabilities, which is the value."""
    game = compiled(name, cut)
    policy, baseline = made_up(game, 3), made_up(game, 8)
    watched = 0 if known == SECOND else 1
    rows, players = (rows_of(name, policy), rows_of(name, baseline)), [int(k) for k in known]
    plays = SlowAivat(name, *rows, players, watched).plays
    found = aivat(recorded(game, plays), policy, baseline=baseline, known=players)
    slack = {"rtol": 0, "atol": 20 * GAMES[name].slack}
    np.testing.assert_allclose(
        found.utilities[:, watched], [play.adjusted for play in plays], **slack
    )
    weights = np.array([play.probability for play in plays])
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    value = SlowValues(tree_of(name), rows[0]).values
    np.testing.assert_allclose(weights @ found.utilities, value, **slack)
    assert found.utilities.std() > 1e-3


@pytest.mark.parametrize("players", ["0", "12", "012"])
@pytest.mark.parametrize("rules", ["kuhn(players=3)", "random", "goofspiel(cards=3)"])
def test_histories_equal_the_definition(rules: str, players: str) -> None:
    source = random_game(3, n_players=3) if rules == "random" else as_game(make_game(rules))
    known = [int(player) for player in players if int(player) < source.n_players]
    game = compile_game(source, symmetry=False)
    tree, policy, baseline = build_tree(source), made_up(game, 3), made_up(game, 8)
    rows: list[Rows] = [
        {label: list(one[label].values()) for label in tree.infosets} for one in (policy, baseline)
    ]
    ends = list(adjusted_of_histories(tree, *rows, known))
    paths = [path_of(game, terminal) for terminal in game.tree.terminal.tolist()]
    nodes = np.full((len(paths), max(map(len, paths))), -1)
    for row, path in zip(nodes, paths, strict=True):
        row[: len(path)] = path
    found = aivat(
        Plays(game, game.tree.utility, nodes, None), policy, baseline=baseline, known=known
    )
    order = np.lexsort(game.tree.utility.T), np.lexsort(np.array([e.utilities for e, *_ in ends]).T)
    expected = np.array([adjusted for _, _, adjusted in ends])
    weights = np.array([p for _, p, _ in ends])
    np.testing.assert_allclose(
        weights @ expected, SlowValues(tree, rows[0]).values, rtol=0, atol=1e-12
    )
    if rules == "random":  # Elsewhere ends that pay the same are many.
        np.testing.assert_allclose(
            found.utilities[order[0]], expected[order[1]], rtol=0, atol=1e-12
        )
    ours = sorted(map(tuple, found.utilities.round(9).tolist()))
    np.testing.assert_allclose(
        ours, sorted(map(tuple, expected.round(9).tolist())), rtol=0, atol=2e-9
    )


def path_of(game: Any, node: int) -> list[int]:
    """The histories on the way to one."""
    return ([] if node == 0 else path_of(game, int(game.tree.parent[node]))) + [node]


def test_no_spread_is_left_where_all_is_known() -> None:
    """With the played policies as baseline every play is worth the value."""
    game = compile_game("leduc")
    policy = made_up(game, 4)
    plays = simulate(game, policy, 200, seed=1)
    found = aivat(plays, policy)
    value = evaluate(game, policy).values
    np.testing.assert_allclose(found.utilities, np.tile(value, (200, 1)), rtol=0, atol=1e-12)
    assert "200 plays" in str(found)
    assert found.unadjusted()[0].mean == pytest.approx(plays.mean[0])


# --------------------------------------------------------------------------- the goal of the issue

MATCHES = {
    "leduc": lambda: compile_game("leduc"),
    "river": lambda: compile_game(
        "holdem",
        board="QsJh2h8d3c",
        ranges=("AA,KK,AKs,QTs,98s,T9s", "QQ-TT,AQs,KQs,87s,A5s"),
        pot=100,
        stacks=200,
        bets="50%",
    ),
    "turn": lambda: compile_game(
        "holdem",
        board="QsJh2h8d",
        ranges=("AA,KK,AKs,QTs", "QQ-TT,AQs,KQs"),
        pot=100,
        stacks=200,
        bets="50%",
    ),
}


@pytest.mark.parametrize(
    ("name", "seeds", "n"),
    tiered(
        [
            ("leduc", 3, 1000),
            ("river", 3, 1000),
            ("leduc", 100, 3000),
            ("river", 100, 3000),
            ("turn", 20, 8000),
        ],
        fast=[("leduc", 3, 1000)],
    ),
)
def test_heads_up_play_has_a_third_of_the_spread(name: str, seeds: int, n: int) -> None:
    """A strategy that is known against one that is not, which is worse; the baseline is a solution
    that neither of them plays.  The exact value is inside the 99.9 % interval in 99 of 100 matches,
    and the standard deviation is cut by 65 % (the paper: 68 % in no-limit hold'em)."""
    game = MATCHES[name]()
    first, second = (solve(game, "cfr", iters=t, checkpoints=()).policy for t in (300, 30))
    baseline = solve(game, "cfr+", iters=100, checkpoints=()).policy
    policies = {"known": first, "other": second}
    both = head_to_head(game, policies).values[0, 1]
    profile = seated_by_hand(game, first, second)
    inside, cut = 0, []
    for seed in range(seeds):
        plays = simulate(game, profile, n, seed=seed)
        found = aivat(plays, profile, baseline=baseline, known=[0])
        interval = found.intervals(0.999)[0]
        inside += interval.low <= both[0] <= interval.high
        cut.append(1 - found.deviations[0])
    assert inside >= 0.99 * seeds
    assert np.mean(cut) >= 0.65


def seated_by_hand(game: CompiledGame, first: Policy, second: Policy) -> Policy:
    """Player 0 of one policy and player 1 of the other, by their places in the arrays."""
    found = np.array(second.probabilities)
    for rows in game.rows(0):
        found[rows.numbers] = first.at(rows.numbers)
    return Policy(game, found)


# ------------------------------------------------------------------------------------- matches


class Script:
    """In place of random draws: all ways in which a match can go, one after the other."""

    def __init__(self) -> None:
        self.choices: list[int] = []
        self.counts: list[int] = []

    def replay(self) -> None:
        self.at, self.probability = 0, 1.0

    def draw(self, weights: np.ndarray) -> int:
        if self.at == len(self.choices):
            self.choices.append(0)
            self.counts.append(len(weights))
        chosen = self.choices[self.at]
        self.at += 1
        self.probability *= float(weights[chosen] / weights.sum())
        return chosen

    def advance(self) -> bool:
        """Go on to the next way; False after the last."""
        while self.choices and self.choices[-1] == self.counts[-1] - 1:
            self.choices.pop()
            self.counts.pop()
        if not self.choices:
            return False
        self.choices[-1] += 1
        return True


@pytest.mark.parametrize("seat", [0, 1])
def test_matches_without_luck_have_the_same_mean(
    seat: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ways in which a match against a resolving player can go, with their probabilities."""
    pytest.importorskip("scipy")
    game = compile_game("kuhn")
    blueprint, other = made_up(game, 2), made_up(game, 5)
    match = Match(game, blueprint, seat=seat, method="maxmargin", algorithm="lp")
    script = Script()
    monkeypatch.setattr(match, "_drawn", script.draw)
    nodes = game.nodes
    assert nodes is not None
    dealt = nodes.deal_probability(0)
    pairs = np.argwhere(dealt)
    monkeypatch.setattr(
        "tensorcfr.subgames.play.deal",
        lambda *_: pairs[script.draw(dealt[tuple(pairs.T)])][None],
    )
    total, means, squares = 0.0, np.zeros((2, 2)), np.zeros((2, 2))
    while True:
        script.replay()
        match.deal()
        while not match.is_over:
            if match.to_act == seat:
                match.resolve_and_act()
            else:
                rows = other[nodes.labels(match.position.node, [match.hands[1 - seat]])[0]]
                match.act(match.actions[script.draw(np.array(list(rows.values())))])
        if script.probability > 0:
            found = np.array([match.utilities(), match.adjusted_utilities()])
            means += script.probability * found
            squares += script.probability * found**2
            total += script.probability
        if not script.advance():
            break
    assert total == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(means[1], means[0], rtol=0, atol=1e-12)
    variance = (squares - means**2)[:, 0]
    assert variance[1] < 0.5 * variance[0]
    script.replay()
    match.deal()
    with pytest.raises(ValueError, match="the play has not ended"):
        match.adjusted_utilities()


# ------------------------------------------------------------------------- what it is made from


@pytest.mark.parametrize(
    "name", tiered(["kuhn", "random hands", "turn"], fast=["kuhn", "random hands"])
)
def test_plays_in_chunks_are_those_of_the_flat_game(name: str, interpreted: None) -> None:
    cut = compile_game(rules_of(name), cut=1, symmetry=False)
    flat = cut.flat()
    policy = made_up(cut, 3)
    spread = Policy.from_mapping(flat, policy.to_dict())
    one, other = simulate(cut, policy, 300, seed=4), simulate(flat, spread, 300, seed=4)
    assert one.hands is not None
    assert (one.hands == other.hands).all()
    np.testing.assert_allclose(one.utilities, other.utilities, rtol=0, atol=1e-9)
    assert list(one.log())[:5] == list(other.log())[:5]
    error = (one.mean - evaluate(cut, policy).values)[0] / one.standard_error[0]
    assert abs(error) < 4


@pytest.mark.parametrize("name", ["kuhn", "random hands", "turn", "random cards"])
def test_head_to_head_in_chunks(name: str) -> None:
    cut = compile_game(rules_of(name), cut=1, symmetry=False)
    flat, policies = cut.flat(), [made_up(cut, 2), made_up(cut, 6)]
    found = head_to_head(cut, policies, plays=50)
    spread = [Policy.from_mapping(flat, policy.to_dict()) for policy in policies]
    np.testing.assert_allclose(found.values, head_to_head(flat, spread).values, rtol=0, atol=1e-9)
    assert set(found.played) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    interval = found.played[0, 1].intervals()[0]
    assert f"0 against 1: {interval}; with luck" in str(found)
    assert all(len(one.utilities) == 50 for one in found.played.values())
    again = seated_by_hand(cut, policies[1], policies[0])
    assert (found.played[1, 0].plays.utilities == simulate(cut, again, 50).utilities).all()


@pytest.mark.parametrize(
    ("seed", "width", "rounds"), [(2, 1, 1), (3, 1, 0), (4, 2, 1), (5, 2, 0), (22, 2, 1)]
)
def test_ends_and_deals_of_cards_equal_those_hand_by_hand(
    seed: int, width: int, rounds: int
) -> None:
    """Showdowns with card removal, ties, and cards that nobody holds."""
    rules = RandomCards(seed, cards=7, width=width, rounds=rounds, public=1)
    nodes = compile_game(rules, symmetry=False).nodes
    assert nodes is not None
    draw = np.random.default_rng(seed)
    own = [draw.random(len(hands)) * (draw.random(len(hands)) < 0.8) for hands in nodes.hands]
    left, ends = [0], 0
    while left:
        node = left.pop()
        left += [step.node for step in nodes.children(node)]
        dealt = nodes.deal_probability(node)
        if nodes.player(node) == CHANCE:
            pairs = np.argwhere(dealt)
            np.testing.assert_allclose(
                nodes.outcomes(node, pairs), PublicNodes.outcomes(nodes, node, pairs), atol=1e-15
            )
        if nodes.player(node) == TERMINAL:
            factor, key = nodes.payoff(node)
            paid = factor * nodes.matrix(key) * dealt
            ends += 1
            for player in range(2):
                expected = np.moveaxis(paid[player], player, 0) @ own[1 - player]
                np.testing.assert_allclose(
                    nodes.payoffs(node, player, own), expected, rtol=0, atol=1e-14
                )
    assert ends > 1
    expected, drawn = 5000 * nodes.deal_probability(0), np.zeros(nodes.deal_probability(0).shape)
    np.add.at(drawn, tuple(deal(nodes, draw, 5000).T), 1)
    assert not drawn[expected == 0].any()
    some = expected > 0
    square = ((drawn[some] - expected[some]) ** 2 / expected[some]).sum()
    assert abs(square - some.sum()) < 5 * np.sqrt(2 * some.sum())


def test_refusals() -> None:
    game = compile_game("kuhn")
    uniform = Policy.uniform(game)
    plays = simulate(game, uniform, 10)
    assert np.isnan(aivat(simulate(game, uniform, 1), uniform).intervals()[0].standard_error)
    with pytest.raises(ValueError, match=r"players of kuhn, 0 to 1, not \(2,\)"):
        aivat(plays, uniform, known=[2])
    with pytest.raises(ValueError, match=r"one or more players of kuhn, 0 to 1, not \(\)"):
        aivat(plays, uniform, known=[])
    with pytest.raises(ValueError, match="baseline is for leduc"):
        aivat(plays, uniform, baseline=Policy.uniform(compile_game("leduc")))
    with pytest.raises(TypeError, match="plays: simulate makes them"):
        aivat(uniform, uniform)
    general = compile_game(random_public_tree_game(1, zero_sum=False))
    policy = Policy.uniform(general)
    with pytest.raises(ValueError, match=r"the sum of the payoffs of .* is not constant"):
        aivat(simulate(general, policy, 5), policy)
