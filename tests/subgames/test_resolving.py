"""Resolving: values, margins and safety against a slow reference, and published figures.

T1 to T9 are the invariants of resolving: value equality, safety, margins, values elsewhere, the
whole game, failure of unsafe resolving, and the gadget inside the iteration.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from support.random_games import random_public_tree_game
from support.slow_subgames import Spot
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
from tensorcfr.algorithms import CFR_PLUS
from tensorcfr.analysis import values
from tensorcfr.formats import find_policy
from tensorcfr.games import make_game
from tensorcfr.games.small_poker import deal_without_replacement, dealt_to_board
from tensorcfr.solvers.choose import DEFAULT_ALGORITHM
from tensorcfr.subgames import Resolution, belief, put_back, resolve, subgame, subgame_roots
from tensorcfr.subgames.blueprints import find_blueprint, subgames_of

SAFE = ("resolve", "maxmargin", "reach-maxmargin")
EXACT = 1e-7
"""The linear program is exact to 1e-9 of the largest payoff; values differ by some of that."""


def random_policy(game: CompiledGame, seed: int) -> Policy:
    """Uneven strategies, a fifth of the actions never taken."""
    rng = np.random.default_rng(seed)
    probabilities = np.ones(game.n_sequences)
    for infoset in range(game.n_infosets):
        actions = len(game.infoset_actions[infoset])
        row = rng.exponential(size=actions) * (rng.random(actions) < 0.8)
        row[rng.integers(actions)] += 0.1
        probabilities[game.sequences(infoset)] = row / row.sum()
    return Policy(game, probabilities)


RULES = {
    "leduc": lambda: make_game("leduc"),
    "nl_leduc": lambda: make_game("nl_leduc", stack=4),
    "liars_dice": lambda: make_game("liars_dice", faces=3),
    "random 1": lambda: random_game(1),
    "random 2": lambda: random_game(2),
    "random 3": lambda: random_game(3),
}
CUT: dict[str, Any] = {"leduc": "chance", "nl_leduc": "chance"}
"""Where the subgames begin; elsewhere after two public steps."""
EVERYWHERE = tiered(RULES, fast=["random 1"])


def random_game(seed: int) -> PublicTreeGame:
    return random_public_tree_game(
        seed, zero_sum=True, max_hands=4, max_nodes=40, max_depth=5, max_actions=3, stop=0.1
    )


@cache
def compiled(name: str) -> CompiledGame:
    return compile_game(RULES[name]())


@cache
def equilibrium(name: str) -> Solution:
    return solve(compiled(name), "lp")


@cache
def blueprints(name: str) -> tuple[Policy, ...]:
    """A random policy, and one that plays better."""
    game = compiled(name)
    return random_policy(game, 0), solve(game, "cfr", iters=30, checkpoints=()).policy


def roots(name: str) -> tuple[str, ...]:
    """Public nodes at which subgames begin; of random games four, which take seconds."""
    most = 4 if name.startswith("random") else None
    return subgame_roots(compiled(name), CUT.get(name, 2))[:most]


def resolved(name: str, blueprint: Any, method: str, **options: Any) -> Resolution:
    """All subgames that a blueprint lets both players reach, solved again exactly."""
    options = {"algorithm": "lp"} | options
    game = compiled(name)
    policy = blueprint.policy if isinstance(blueprint, Solution) else blueprint
    reached = [at for at in roots(name) if belief(game, policy, at).reach > 0]
    return resolve(game, blueprint, reached, method=method, **options)


def spot(name: str, at: str) -> Spot:
    """The same public node in the rules."""
    rules = RULES[name]()
    todo: list[tuple[Any, tuple[Any, ...], str]] = [(rules.root(), (), "")]
    while todo:
        state, steps, path = todo.pop()
        node = rules.node(state)
        label = node.infoset if isinstance(node, Decision) else None
        if at in ((path.strip() or "start"), (label or "").strip() or None):
            return Spot(rules, steps)
        if not isinstance(node, Payoff):
            moves = node.actions if isinstance(node, Decision) else node.outcomes
            todo += [(rules.next(state, m), (*steps, m), f"{path} {m}") for m in moves]
    raise AssertionError(at)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_alternative_values_equal_a_slow_reference(name: str) -> None:
    """Against a random blueprint, and the values against the new strategies likewise."""
    blueprint = random_policy(compiled(name), 7)
    found = resolved(name, blueprint, "resolve")
    after = dict(found.policy)
    for one in found.subgames[:6]:
        slow, opponent = spot(name, one.public_node), 1 - one.player
        weight = slow.weights(dict(blueprint), opponent).sum(axis=1)
        for policy, fast in ((dict(blueprint), one.alternative), (after, one.values)):
            with np.errstate(invalid="ignore"):
                expected = np.where(weight > 0, slow.best(policy, opponent) / weight, np.nan)
            np.testing.assert_allclose(fast, expected, atol=1e-12)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_gadgets_are_as_good_as_a_slow_linear_program(name: str) -> None:
    """Least margin of maxmargin, and the opponent's value of resolve, of the first subgames."""
    blueprint = random_policy(compiled(name), 0)
    for method in ("resolve", "maxmargin"):
        for one in resolved(name, blueprint, method).subgames[:4]:
            slow, opponent = spot(name, one.public_node), 1 - one.player
            best = slow.best_gadget(
                dict(blueprint), one.player, one.alternative, margin=method == "maxmargin"
            )
            if method == "maxmargin":
                assert one.least_margin == pytest.approx(best, abs=EXACT)
                assert one.solution.value[one.player] == pytest.approx(best, abs=EXACT)
            else:
                total = slow.weights(dict(blueprint), opponent).sum()
                assert one.solution.value[opponent] * total == pytest.approx(best, abs=EXACT)


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.parametrize("method", tiered(SAFE, fast=["reach-maxmargin"]))
def test_t2_no_blueprint_becomes_more_exploitable(name: str, method: str) -> None:
    """All disjoint subgames at once, both players; and the margins of T3."""
    for blueprint in blueprints(name):
        before = evaluate(compiled(name), blueprint).best_responses
        found = resolved(name, blueprint, method)
        after = evaluate(compiled(name), found.policy).best_responses
        assert all(b <= a + EXACT for a, b in zip(before, after, strict=True))
        assert found.least_margin >= -EXACT


@pytest.mark.full
@pytest.mark.parametrize("name", RULES)
def test_t3_maxmargin_has_the_largest_least_margins_and_gifts_add_to_them(name: str) -> None:
    gave = False
    for blueprint in blueprints(name):
        found = {method: resolved(name, blueprint, method).subgames for method in SAFE}
        for resolve_, maxmargin, reach in zip(*found.values(), strict=True):
            assert maxmargin.least_margin >= resolve_.least_margin - EXACT
            assert reach.least_margin >= maxmargin.least_margin - EXACT
            gift = np.nan_to_num(reach.alternative - maxmargin.alternative)
            assert (gift >= 0).all()
            gave |= bool(gift.any())
    assert gave


@pytest.mark.parametrize("at", ["rc/Ks", "raise call"])
def test_gifts_equal_a_slow_reference(at: str) -> None:
    """In Leduc: what calling a raise loses against the best answer, per unit of reach of the call;
    below the card each subgame may spend as much as its share of the probability."""
    game = compiled("leduc")
    # Player 0 raises with a king alone, and gives up where a jack comes: a caller with a jack wins
    # 3 in one of four cases, and loses 3 in the others.
    blueprint = random_policy(game, 13).to_dict()
    for label, row in blueprint.items():
        if game.infoset_player[game.infoset_index[label]] == 0:
            gives_up = "/J" in label and "fold" in row
            first = "raise" if label in ("Ks", "Kh") else "call"
            blueprint[label] = {"fold" if gives_up else first: 1.0}
    options: dict[str, Any] = {"player": 0, "algorithm": "cfr+", "iters": 1}
    plain, with_gifts = (
        resolve(game, blueprint, at, method=method, **options).subgames[0].alternative
        for method in ("maxmargin", "reach-maxmargin")
    )
    given, rules = dict(find_policy(game, blueprint)), RULES["leduc"]()
    answers = [Spot(rules, ("raise", action)) for action in ("fold", "call", "raise")]
    worth, called = [one.best(given, 1) for one in answers], answers[1]
    gift = np.max(worth, axis=0) - worth[1]
    assert gift.any()
    assert (worth[2] > worth[0]).any()
    expected = gift / called.weights(given, 1).sum(axis=1)
    dealt = ~np.isnan(plain)
    np.testing.assert_allclose((with_gifts - plain)[dealt], expected[dealt], atol=1e-12)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_t1_an_equilibrium_keeps_its_values(name: str) -> None:
    """The gadget is worth the sum of weights times values."""
    found = resolved(name, equilibrium(name), "resolve")
    policy = dict(equilibrium(name).policy)
    for one in found.subgames[:6]:
        weight = spot(name, one.public_node).weights(policy, 1 - one.player).sum(axis=1)
        worth = np.nansum(weight * np.nan_to_num(one.alternative)) / weight.sum()
        assert one.solution.value[1 - one.player] == pytest.approx(worth, abs=EXACT)
    before, after = equilibrium(name).evaluation, evaluate(compiled(name), found.policy)
    assert after.exploitability <= before.exploitability + EXACT


def test_t4_values_elsewhere_stay_and_values_above_do_not_rise() -> None:
    name, at = "leduc", "raise call"
    game, blueprint = compiled(name), random_policy(compiled(name), 3)
    for player in (0, 1):
        found = resolve(game, blueprint, at, method="maxmargin", player=player, algorithm="lp")
        own = slice(*game.form.player_sequences[1 - player : 3 - player].tolist())
        before, after = (values(game, one).best for one in (blueprint, found.policy))
        inside, above = np.zeros((2, game.n_sequences), dtype=bool)
        above[game.form.player_sequences[:-1]] = True
        for infoset, label in enumerate(game.infoset_labels):
            row = game.sequences(infoset)
            inside[row] = label[2:].startswith(" rc")
            above[row] = label[2:] in ("", " r")
        own = np.zeros_like(inside)
        own[slice(*game.form.player_sequences[1 - player : 3 - player].tolist())] = True
        assert (after <= before + EXACT)[own & above].all()
        elsewhere = own & ~inside & ~above
        assert elsewhere.any()
        np.testing.assert_array_equal(before[elsewhere], after[elsewhere])


@pytest.mark.parametrize("name", EVERYWHERE)
def test_unsafe_resolving_is_that_of_the_subgame_with_both_ranges(name: str) -> None:
    """The ranges are those of a slow reference."""
    game, blueprint = compiled(name), random_policy(compiled(name), 9)
    for one in resolved(name, blueprint, "unsafe").subgames[:4]:
        slow = spot(name, one.public_node)
        ranges = [slow.reach(dict(blueprint), player) for player in (0, 1)]
        part = subgame(game, one.public_node, ranges=ranges)
        assert one.solution.value == pytest.approx(solve(part, "lp").value, abs=EXACT)


def test_t5_the_whole_game_as_a_subgame_is_solved() -> None:
    game = compiled("random 1")
    found = resolve(game, random_policy(game, 5), "start", method="unsafe", algorithm="lp")
    assert evaluate(game, found.policy).exploitability <= EXACT


@pytest.mark.full
def test_t6_unsafe_resolving_of_leduc_stalls_and_safe_resolving_does_not() -> None:
    """Burch, Johanson and Bowling 2014, figure 3: after 6.4 million iterations unsafe resolving of
    an equilibrium is exploitable by about 0.080; safe resolving falls like 1 / sqrt(T).  Where
    unsafe resolving ends depends on the equilibrium: 0.058 to 0.11 with CFR+."""
    game = compiled("leduc")
    blueprint = solve(game, "cfr+", target=1e-6)
    exploitable = {
        (method, iters): evaluate(
            game,
            resolve(
                game, blueprint, roots("leduc"), method=method, algorithm="cfr+", iters=iters
            ).policy,
        ).exploitability
        for method in ("unsafe", "resolve", "maxmargin")
        for iters in (100, 1000)
    }
    assert 0.05 < exploitable["unsafe", 1000] < 0.12
    for method in ("resolve", "maxmargin"):
        assert exploitable[method, 100] < 0.02
        assert exploitable[method, 1000] < exploitable[method, 100] / 10


@pytest.mark.parametrize("name", ["random 1", "random 2", "random 3"])
def test_t9_the_gadget_equals_two_actions_inside_the_iteration(name: str) -> None:
    """20 iterations of CFR+ on games without ties, at which two correct programs part."""
    iterations = 20
    blueprint = random_policy(compiled(name), 11)
    found = resolved(name, blueprint, "resolve", algorithm="cfr+", iters=iterations)
    for one in found.subgames[:4]:
        slow = spot(name, one.public_node)
        for public, average in slow.gadget_cfr_plus(
            dict(blueprint), one.player, np.nan_to_num(one.alternative), iterations
        ).items():
            for player in (0, 1):
                for hand in range(len(slow.hands[player])):
                    label = slow.label(player, hand, public)
                    if label in one.solution.policy:
                        row = list(one.solution.policy[label].values())
                        np.testing.assert_allclose(row, average[:, hand], atol=1e-9)


# --------------------------------------------------------------------------- published figures


class CoinToss(PublicTreeGame):
    """Heads or tails is dealt to player 0, who sells it (0.5 for heads, -0.5 for tails) or plays:
    player 1 then guesses, and player 0 gets 1 for a wrong guess and -1 for a right one.

    Source: N. Brown, T. Sandholm, "Safe and nested subgame solving for imperfect-information
    games", NeurIPS 2017, figure 1.
    """

    hands = (("heads", "tails"), ("-",))
    prior = np.array([[0.5], [0.5]])

    def node(self, state: tuple[str, ...]) -> Decision | Payoff:
        if not state:
            return Decision(0, " toss", ("sell", "play"))
        if state == ("play",):
            return Decision(1, " guess", ("guess heads", "guess tails"))
        return Payoff(1.0, state[-1])

    def matrix(self, key: str) -> np.ndarray:
        own = {"sell": (0.5, -0.5), "guess heads": (-1.0, 1.0), "guess tails": (1.0, -1.0)}[key]
        return np.array([own, [-own[0], -own[1]]]).reshape(2, 2, 1)


@pytest.mark.parametrize("method", ["resolve", "maxmargin"])
@pytest.mark.parametrize("algorithm", ["lp", "cfr+"])
def test_coin_toss_has_its_published_strategy(method: str, algorithm: str) -> None:
    """Heads with probability 1/4, from any blueprint that sells and plays with both: there the
    alternative values are those of an equilibrium, 0.5 and -0.5."""
    game = compile_game(CoinToss())
    solution = solve(game, "lp")
    assert solution.value[0] == pytest.approx(0.0, abs=1e-12)
    blueprint = dict(solution.policy) | {
        "heads toss": {"sell": 0.5, "play": 0.5},
        "tails toss": {"sell": 0.5, "play": 0.5},
        "- guess": {"guess heads": 0.25, "guess tails": 0.75},
    }
    iters = None if algorithm == "lp" else 10_000
    found = resolve(
        game, blueprint, "guess", method=method, player=1, algorithm=algorithm, iters=iters
    )
    assert found.subgames[0].alternative.tolist() == pytest.approx([0.5, -0.5])
    limit = 1e-9 if algorithm == "lp" else 1e-3
    assert found.policy["- guess"]["guess heads"] == pytest.approx(0.25, abs=limit)


class Table(NamedTuple):
    """The public state of :class:`PotOrAllIn`."""

    board: int | None
    player: int | None
    """Who acts; None where a card is dealt or the game is over."""
    paid: tuple[int, int]
    folded: int | None
    acted: bool


class PotOrAllIn(PublicTreeGame):
    """No-limit Leduc of the DeepStack tutorial: ante 100, stacks 1,200; bets of the pot and of the
    stack; a player may fold at any time.

    Source: the manual and ``Source/Tree/tree_builder.lua`` of lifrordi/DeepStack-Leduc.
    """

    states_repeat = True
    stack = 1200

    def __init__(self, root: Table | None = None) -> None:
        self.cards = ["As", "Ah", "Ks", "Kh", "Qs", "Qh"]
        self.hands = [self.cards] * 2
        self.prior = deal_without_replacement(6, 2)
        self.boards = dict(zip(self.cards, dealt_to_board(6, 2), strict=True))
        self.start = root or Table(None, 0, (100, 100), None, False)
        if self.start.board is not None:
            self.prior[self.start.board] = self.prior[:, self.start.board] = 0.0
            self.prior /= self.prior.sum()

    def root(self) -> Table:
        return self.start

    def node(self, table: Table) -> Decision | Chance | Payoff:
        if table.player is None:
            if table.folded is None and table.board is None:
                return Chance(self.boards)  # type: ignore[arg-type]
            return Payoff(float(min(table.paid)), (table.board, table.folded))
        own, other = table.paid[table.player], table.paid[1 - table.player]
        most = self.stack - other
        least = min(most, max(other - own, 100))
        sizes = [str(3 * other)] if least < most and least <= 2 * other < most else []
        return Decision(table.player, None, ("f", "c", *sizes, *([str(self.stack)] * (most > 0))))

    def next(self, table: Table, action: str) -> Table:
        if table.player is None:
            over = table.paid[0] == self.stack
            return Table(self.cards.index(action), None if over else 0, table.paid, None, False)
        if action == "f":
            return table._replace(folded=table.player, player=None)
        paid = list(table.paid)
        if action != "c":
            paid[table.player] = int(action)
            return table._replace(player=1 - table.player, paid=(paid[0], paid[1]), acted=True)
        checked = paid[0] == paid[1] and not table.acted
        paid = [max(paid)] * 2
        return table._replace(
            player=1 - table.player if checked else None, paid=(paid[0], paid[1]), acted=True
        )

    def matrix(self, key: tuple[int | None, int | None]) -> np.ndarray:
        board, folded = key
        rank = np.array([3, 3, 2, 2, 1, 1])
        if folded is not None:
            won = np.full((6, 6), 1.0 if folded else -1.0)
        else:
            assert board is not None
            rank = rank + 4 * (np.arange(6) // 2 == board // 2)
            won = np.sign(rank[:, None] - rank[None, :]).astype(float)
        return np.stack([won, -won])


DEALT = 5 / 6
"""DeepStack's ranges are 1/6 for each card, and pairs of one card count as 0: its values are those
of the game times the probability of two different cards."""


def test_no_limit_leduc_of_the_deepstack_tutorial() -> None:
    """ "A bit over 175" for uniform play and "about 1.0" for CFR, 1,000 iterations of which 500 are
    skipped.  ``Source/Tree/Tests/test_tree_values.lua`` evaluates the whole game, not the spot with
    300 in the pot that the manual draws; ``tree_cfr.lua`` clips regrets and updates at once."""
    game = compile_game(PotOrAllIn())
    uniform = evaluate(game, Policy.uniform(game)).exploitability * DEALT
    assert 175 < uniform < 176
    tutorial = CFR_PLUS(alternating=False, average_power=0, delay=500)
    assert solve(game, tutorial, iters=1000).exploitability * DEALT == pytest.approx(1.0, abs=0.05)


@pytest.mark.full
def test_continual_resolving_of_the_tutorials_game_is_as_good_as_cfr() -> None:
    """With exact values in place of its network, the tutorial's 1.37 chips are beaten."""
    game = compile_game(PotOrAllIn())
    blueprint = solve(game, "cfr+", iters=1000)
    found = resolve(game, blueprint, subgame_roots(game), method="resolve", iters=1000)
    assert evaluate(game, found.policy).exploitability * DEALT < 1.0


def test_the_tutorials_spot_is_the_subgame_of_the_whole_game() -> None:
    """Board Ks, 300 each, uniform ranges: as a subgame, and as rules of its own."""
    whole = compile_game(PotOrAllIn())
    spot = compile_game(PotOrAllIn(Table(2, 0, (300, 300), None, False)))
    part = subgame(whole, "300 c Ks")
    for policy in (Policy.uniform, lambda game: random_policy(game, 0)):
        by_suffix = {label: dict(policy(spot)[label]) for label in spot.infoset_labels}
        same = {
            label: by_suffix[label.replace(" 300 c Ks", "", 1)] for label in part.infoset_labels
        }
        mine, theirs = evaluate(part, same), evaluate(spot, by_suffix)
        assert mine.best_responses == pytest.approx(theirs.best_responses, abs=1e-9)
        assert mine.values == pytest.approx(theirs.values, abs=1e-9)


# ------------------------------------------------------------------------------- nested resolving


def test_nested_resolving_answers_actions_that_the_blueprint_has_not() -> None:
    """A blueprint of liar's dice without one opening bid: the opponent gains nothing by the bid."""
    game, coarse = compile_game(Openings(())), compile_game(Openings(("1x2",)))
    blueprint = solve(coarse, "lp").policy
    found = resolve(game, blueprint, "1x2", method="resolve", player=1, algorithm="lp")
    value = solve(coarse, "lp").value[0]
    # Against the new strategies of player 1 below the new bid, player 0 gets no more than before.
    assert evaluate(game, found.policy).best_responses[0] <= value + EXACT
    # Nobody plays what the blueprint has not.
    for label in coarse.infoset_labels:
        played = {action for action, share in found.policy[label].items() if share > 0.0}
        assert played <= set(blueprint[label])
    # Uniform play after the bid, which the blueprint cannot know, is worse.
    assert (
        evaluate(game, find_blueprint(subgames_of(game), blueprint).lifted).best_responses[0]
        > value + 0.01
    )


class Openings(PublicTreeGame):
    """Liar's dice of three faces without some opening bids."""

    def __init__(self, without: tuple[str, ...]) -> None:
        self.rules = make_game("liars_dice", faces=3)
        self.without = without
        self.hands, self.prior = self.rules.hands, self.rules.prior

    def root(self) -> Any:
        return self.rules.root()

    def node(self, state: Any) -> Decision | Chance | Payoff:
        node = self.rules.node(state)
        if state == self.rules.root():
            return node._replace(actions=[a for a in node.actions if a not in self.without])
        return node

    def next(self, state: Any, action: Any) -> Any:
        return self.rules.next(state, action)

    def matrix(self, key: Any) -> np.ndarray:
        return self.rules.matrix(key)


class Dearer(PublicTreeGame):
    """Kuhn poker in which showdowns after a bet pay three times as much as those without."""

    def __init__(self) -> None:
        self.rules = make_game("kuhn")
        self.hands, self.prior = self.rules.hands, self.rules.prior
        self.root, self.next, self.matrix = self.rules.root, self.rules.next, self.rules.matrix

    def node(self, state: Any) -> Decision | Chance | Payoff:
        node = self.rules.node(state)
        if isinstance(node, Payoff) and node.matrix == ((True, True), 2):
            return node._replace(coefficient=1.5)
        return node


def test_a_blueprint_of_another_game_is_refused() -> None:
    leduc, kuhn = compiled("leduc"), compile_game("kuhn")
    with pytest.raises(ValueError, match=r"blueprint is for kuhn, .* deals other hands"):
        resolve(leduc, Policy.uniform(kuhn), "cr")
    capped = compile_game("leduc", raise_cap=1)
    with pytest.raises(ValueError, match=r"has another action, 'raise', than .* after 'raise'"):
        resolve(capped, Policy.uniform(leduc), "r")
    dearer = compile_game(Dearer())
    with pytest.raises(ValueError, match="pays differently than kuhn here after 'bet bet'"):
        resolve(kuhn, Policy.uniform(dearer), "bet")
    on_purpose = Policy.uniform(dearer).to_dict()
    assert resolve(kuhn, on_purpose, "bet", algorithm="lp").subgames
    never = {label: {"pass": 1.0} for label in kuhn.infoset_labels}
    with pytest.raises(ValueError, match="never reaches"):
        resolve(kuhn, never, "bet", player=0)
    with pytest.raises(ValueError, match="method must be one of"):
        resolve(leduc, Policy.uniform(leduc), "cr", method="safe")


def test_strategies_of_both_players_are_put_back() -> None:
    """Each player's are those that are found alone."""
    game, at = compiled("leduc"), "raise call"
    blueprint = random_policy(game, 17)
    both = resolve(game, blueprint, at, algorithm="lp").policy
    for player in (0, 1):
        alone = resolve(game, blueprint, at, algorithm="lp", player=player).policy
        assert both.to_dict(player) == alone.to_dict(player)
        assert alone.to_dict(player) != blueprint.to_dict(player)
        assert alone.to_dict(1 - player) == blueprint.to_dict(1 - player)


def test_a_policy_of_the_subgame_goes_back_to_its_place() -> None:
    game = compiled("leduc")
    before = random_policy(game, 1)
    part = subgame(game, belief(game, before, "call raise call"))
    inner = random_policy(part, 2)
    after = put_back(before, inner)
    for label in game.infoset_labels:
        assert after[label] == (inner if label in part.infoset_index else before)[label]
    one = put_back(before, inner, player=1)
    assert one.to_dict(0) == before.to_dict(0)
    assert one.to_dict(1) == after.to_dict(1)


def test_the_default_takes_a_better_equilibrium_of_the_gadget() -> None:
    """A floor that falls: hands that the opponent does not follow with come all the same."""
    game = compiled("leduc")
    weak, exact = solve(game, "cfr", iters=20), solve(game, "lp")
    roots = subgame_roots(game)
    left = []
    for algorithm in (None, DEFAULT_ALGORITHM):
        found = resolve(game, weak, roots, algorithm=algorithm)
        left.append(evaluate(game, found.policy).exploitability)
        assert found.algorithm.floor == (0.1 if algorithm is None else 0.0)
    assert left[0] < 0.75 * left[1] < left[1] < weak.exploitability
    again = resolve(game, exact, roots)
    assert evaluate(game, again.policy).exploitability < 1e-3
    assert resolve(game, exact, roots[0], method="maxmargin").algorithm == DEFAULT_ALGORITHM
