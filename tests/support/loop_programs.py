"""Programs of CFR as people write them, after the listings of tutorials: right ones, and edits that
make the mistakes of real programs.

Each program is a text that defines ``iterate(t)`` and ``table()``.  They share no code with the
library.
"""

from __future__ import annotations

from typing import Any, NamedTuple

KUHN = '''
from itertools import permutations

PASS, BET = 0, 1
nodes = {}


class Node:
    def __init__(self):
        self.regret_sum = [0.0, 0.0]
        self.new_regret = [0.0, 0.0]
        self.strategy = [0.5, 0.5]
        self.strategy_sum = [0.0, 0.0]

    def update_strategy(self):
        for a in (PASS, BET):
            self.regret_sum[a] += self.new_regret[a]
        self.new_regret = [0.0, 0.0]
        positive = [max(r, 0.0) for r in self.regret_sum]
        total = sum(positive)
        self.strategy = [p / total if total > 0 else 0.5 for p in positive]

    def get_average_strategy(self):
        total = sum(self.strategy_sum)
        return [s / total if total > 0 else 0.5 for s in self.strategy_sum]


def payoff(cards, history, pot):
    """To the player to act, or None."""
    player = len(history) % 2
    won = pot / 2 if cards[player] > cards[1 - player] else -pot / 2
    if history[-2:] == "bp":
        return 1
    return won if history == "pp" or history[-2:] == "bb" else None


def cfr(cards, history, p0, p1, pot):
    player = len(history) % 2
    util = payoff(cards, history, pot)
    if util is not None:
        return util
    node = nodes.setdefault(f"{cards[player]}{history}", Node())
    strategy = node.strategy
    own_reach, other_reach = (p0, p1) if player == 0 else (p1, p0)
    util = [0.0, 0.0]
    for a in (BET, PASS):
        reaches = (p0 * strategy[a], p1) if player == 0 else (p0, p1 * strategy[a])
        util[a] = -cfr(cards, history + "pb"[a], *reaches, pot + a)
    node_util = sum(strategy[a] * util[a] for a in (PASS, BET))
    for a in (PASS, BET):
        node.new_regret[a] += other_reach * (util[a] - node_util)
        node.strategy_sum[a] += own_reach * strategy[a]
    return node_util


def iterate(t):
    for cards in permutations((1, 2, 3), 2):
        cfr(cards, "", 1.0, 1.0, 2)
    for node in nodes.values():
        node.update_strategy()


def table():
    return {label: node.get_average_strategy() for label, node in nodes.items()}
'''
"""All players in one pass, all deals, payoffs to the player to act: the listing of T. Neller and
M. Lanctot, 'An introduction to counterfactual regret minimization' (2013), for all deals."""

PLUS = '''
DEALS = [(a, b) for a in "JQK" for b in "JQK" if a != b]
ORDER = "JQK"
regret, strategy_sum, strategy, new = {}, {}, {}, {}


def value(cards, line):
    """To player 0, or None."""
    sign = 1 if ORDER.index(cards[0]) > ORDER.index(cards[1]) else -1
    return {"CC": sign, "BC": 1, "BB": 2 * sign, "CBC": -1, "CBB": 2 * sign}.get(line)


def add(key, a, r, t):
    new[key][a] += r


def finish(key, t):
    for a in "CB":
        regret[key][a] = max(regret[key][a] + new[key][a], 0.0)
        new[key][a] = 0.0
    match(key)


def match(key):
    total = sum(max(r, 0.0) for r in regret[key].values())
    for a in "CB":
        strategy[key][a] = max(regret[key][a], 0.0) / total if total > 0 else 0.5


def average_weight(t):
    return t


def walk(cards, line, update_player, reach0, reach1, t):
    if (won := value(cards, line)) is not None:
        return won if update_player == 0 else -won
    player = len(line) % 2
    key = cards[player] + line
    for store in (regret, strategy_sum, new):
        store.setdefault(key, {"C": 0.0, "B": 0.0})
    sigma = strategy.setdefault(key, {"C": 0.5, "B": 0.5})
    values = {}
    for a in "CB":
        if player == 0:
            values[a] = walk(cards, line + a, update_player, reach0 * sigma[a], reach1, t)
        else:
            values[a] = walk(cards, line + a, update_player, reach0, reach1 * sigma[a], t)
    mean = sum(sigma[a] * values[a] for a in "CB")
    if player == update_player:
        own, other = (reach0, reach1) if player == 0 else (reach1, reach0)
        for a in "CB":
            strategy_sum[key][a] += average_weight(t) * own * sigma[a]
        for a in "CB":
            add(key, a, other * (values[a] - mean) / 6, t)
    return mean


def iterate(t):
    for update_player in (0, 1):
        for cards in DEALS:
            walk(cards, "", update_player, 1.0, 1.0, t)
        for key in list(regret):
            if len(key) % 2 == 1 - update_player:
                finish(key, t)


def table():
    return {
        key: {a: s / sum(row.values()) if sum(row.values()) else 0.5 for a, s in row.items()}
        for key, row in strategy_sum.items()
    }
'''
"""CFR+ with players in turn and the linear average, in dictionaries."""

LEDUC = '''
FOLD, CALL, RAISE = 0, 1, 2
CARDS = range(4)  # Two suits each of two ranks.
regrets, new_regrets, averages = {}, {}, {}


def options(bets):
    if bets[-1:] != (RAISE,):
        return (CALL, RAISE)
    return (FOLD, CALL, RAISE) if bets.count(RAISE) < 1 else (FOLD, CALL)


def winner(cards):
    ranks = [card // 2 for card in cards]
    if ranks[2] in ranks[:2]:
        ranks = [rank == ranks[2] for rank in ranks[:2]]
    return None if ranks[0] == ranks[1] else 0 if ranks[0] > ranks[1] else 1


def cfr(cards, rounds, paid, pot, reach, chance):
    """Utilities of both players."""
    bets = rounds[-1]
    if bets[-1:] == (FOLD,):
        loser = (len(bets) - 1) % 2
        return [-paid[0], paid[0]] if loser == 0 else [paid[1], -paid[1]]
    if bets[-1:] == (CALL,) and len(bets) > 1:
        if len(rounds) == 2:
            best = winner(cards)
            won = 0 if best is None else pot / 2 if best == 0 else -pot / 2
            return [won, -won]
        boards = [card for card in CARDS if card not in cards]
        total = [0.0, 0.0]
        for card in boards:
            p = 1 / len(boards)
            won = cfr([*cards, card], [*rounds, ()], paid, pot, reach, chance * p)
            for i in (0, 1):
                total[i] += p * won[i]
        return total
    player = len(bets) % 2
    board = cards[2] if len(rounds) == 2 else None
    actions = options(bets)
    names = {FOLD: "f", CALL: "c", RAISE: "r"}
    lines = "/".join("".join(names[a] for a in line) for line in rounds)
    key = f"{'QK'[cards[player] // 2]}{'sh'[cards[player] % 2]} {lines.split('/')[0]}"
    if board is not None:
        key += f"/{'QK'[board // 2]}{'sh'[board % 2]}{lines.split('/')[1]}"
    key = key.strip()
    regret = regrets.setdefault(key, [0.0] * len(actions))
    new_regrets.setdefault(key, [0.0] * len(actions))
    averages.setdefault(key, [0.0] * len(actions))
    total = sum(max(r, 0.0) for r in regret)
    sigma = [max(r, 0.0) / total if total > 0 else 1 / len(actions) for r in regret]
    size = (2, 4)[len(rounds) - 1]
    util = []
    for a, p in zip(actions, sigma):
        chips = {FOLD: 0, CALL: max(paid) - paid[player], RAISE: max(paid) - paid[player] + size}[a]
        after = list(paid)
        after[player] += chips
        next_reach = list(reach)
        next_reach[player] *= p
        util.append(cfr(cards, [*rounds[:-1], (*bets, a)], after, pot + chips, next_reach, chance))
    mean = [sum(p * u[i] for p, u in zip(sigma, util)) for i in (0, 1)]
    for a in range(len(actions)):
        new_regrets[key][a] += chance * reach[1 - player] * (util[a][player] - mean[player])
        averages[key][a] += reach[player] * sigma[a]
    return mean


def iterate(t):
    for first in CARDS:
        for second in CARDS:
            if first != second:
                cfr([first, second], [()], [1, 1], 2, [1.0, 1.0], 1 / 12)
    for key, new in new_regrets.items():
        for a in range(len(new)):
            regrets[key][a] += new[a]
            new[a] = 0.0


def table():
    return {
        key: [s / sum(row) if sum(row) else 1 / len(row) for s in row]
        for key, row in averages.items()
    }
'''
"""Leduc poker with four cards: the board is dealt within the recursion."""

PROGRAMS = {"kuhn": KUHN, "plus": PLUS, "leduc": LEDUC}
GAMES = {"kuhn": "kuhn", "plus": "kuhn", "leduc": "leduc(ranks=2, raise_cap=1)"}


class WrongProgram(NamedTuple):
    program: str
    mistake: str
    edits: tuple[tuple[str, str], ...]
    source: str
    """Where somebody made, or proposes, the mistake."""
    iterations: int = 6
    game: str | None = None


AT_ONCE = (
    "    strategy = node.strategy\n",
    "    node.update_strategy()\n    strategy = node.strategy\n",
)
WRONG = [
    # Mistakes of real programs and questions.
    WrongProgram(
        "kuhn",
        "used at once",
        (AT_ONCE,),
        "github.com/chisness/aipoker, KTCFRChanceFBRFIX.java: get_strategy reads regret sums at "
        "every history of a loop over all deals",
    ),
    WrongProgram(
        "kuhn",
        "average by others",
        (("+= own_reach * strategy[a]", "+= other_reach * strategy[a]"),),
        "a public trainer of Kuhn poker: 'realization_weight = p1 if curr_player == 0 else p0'",
    ),
    WrongProgram(
        "kuhn",
        "average by no reach",
        (("+= own_reach * strategy[a]", "+= strategy[a]"),),
        "github.com/google-deepmind/open_spiel/issues/387: why not the sum of all strategies?",
    ),
    WrongProgram(
        "kuhn",
        "regrets by no reach",
        (("other_reach * (util[a] - node_util)", "util[a] - node_util"),),
        "cs.stackexchange.com/questions/132738: why are additions to regret weighted by reach?",
        iterations=40,
    ),
    WrongProgram(
        "kuhn",
        "wrong winner",
        (
            (
                '    if history[-2:] == "bp":',
                '    if history == "pbb":\n        return 2 if cards[0] > cards[1] else -2\n'
                '    if history[-2:] == "bp":',
            ),
        ),
        "github.com/jsboige/CoursIA/pull/7371: 'cbc' pays player 0, not the player to act",
    ),
    WrongProgram(
        "kuhn",
        "average never summed",
        (("        node.strategy_sum[a] += own_reach * strategy[a]\n", ""),),
        "github.com/jsboige/CoursIA/pull/13604: a solver never adds to strategy_sum",
    ),
    WrongProgram(
        "kuhn",
        "last strategy",
        (("return {label: node.get_average_strategy()", "return {label: node.strategy"),),
        "a forum's question of 2017 (poker-ai.org, mediacalc): why does the strategy not converge?",
        iterations=8,
    ),
    WrongProgram(
        "kuhn",
        "average over unreached histories",
        (
            (
                "        node.strategy_sum[a] += own_reach * strategy[a]\n",
                "        if other_reach == 0:\n"
                "            node.strategy_sum[a] += own_reach * strategy[a]\n",
            ),
        ),
        "github.com/swpecht/swpecht.github.io, CFR in Rust: only phase 2 sums the average",
    ),
    WrongProgram(
        "kuhn",
        "negative regrets dropped",
        (
            (
                "other_reach * (util[a] - node_util)",
                "max(other_reach * (util[a] - node_util), 0.0)",
            ),
        ),
        "github.com/int8/counterfactual-regret-minimization/issues/4: 'if action_cfr_regret < 0'",
        iterations=10,
    ),
    WrongProgram(
        "kuhn",
        "floor at each history, used at once",
        (
            AT_ONCE,
            (
                "        positive = [max(r, 0.0) for r in self.regret_sum]",
                "        positive = self.regret_sum\n        for a in (PASS, BET):\n"
                "            positive[a] = max(positive[a], 0.0)",
            ),
        ),
        "github.com/IanSullivan/PokerCFR/issues/3: get_strategy clips regrets_sum itself",
        iterations=12,
    ),
    WrongProgram(
        "plus",
        "floor at each history",
        (
            ("    new[key][a] += r\n", "    regret[key][a] = max(regret[key][a] + r, 0.0)\n"),
            ("regret[key][a] = max(regret[key][a] + new[key][a], 0.0)", "pass"),
        ),
        "the CFR+ of github.com/chisness/aipoker floors at each history",
        iterations=12,
    ),
    WrongProgram(
        "leduc",
        "growing pot",
        (
            (
                "        util.append(cfr(cards, [*rounds[:-1], (*bets, a)], after, pot + chips,",
                "        pot += chips\n"
                "        util.append(cfr(cards, [*rounds[:-1], (*bets, a)], after, pot,",
            ),
            ("bets.count(RAISE) < 1", "bets.count(RAISE) < 2"),
        ),
        "the listing of no-limit Leduc poker in aipokertutorial.com: 'pot += a' in the loop",
        iterations=3,
        game="leduc(ranks=2)",
    ),
    # The same kinds, in other places.
    WrongProgram(
        "kuhn",
        "growing pot",
        (
            (
                '        util[a] = -cfr(cards, history + "pb"[a], *reaches, pot + a)',
                '        pot += a\n        util[a] = -cfr(cards, history + "pb"[a], *reaches, pot)',
            ),
        ),
        "the same with the bet first",
    ),
    WrongProgram(
        "leduc",
        "regrets by own reach",
        (("chance * reach[1 - player] * (util", "chance * reach[player] * (util"),),
        "a public solver: 'regret_sum[i] += regret * reach' with the reach of strategy_sum",
        iterations=4,
    ),
    WrongProgram(
        "kuhn",
        "regrets by all reaches",
        (
            (
                "other_reach * (util[a] - node_util)",
                "own_reach * other_reach * (util[a] - node_util)",
            ),
        ),
        "p0 * p1 in both sums",
        iterations=40,
    ),
    WrongProgram(
        "kuhn",
        "average over reached histories",
        (
            (
                "        node.strategy_sum[a] += own_reach * strategy[a]\n",
                "        if other_reach > 0:\n"
                "            node.strategy_sum[a] += own_reach * strategy[a]\n",
            ),
        ),
        "pruning before the average",
        iterations=10,
    ),
    WrongProgram(
        "kuhn",
        "average of the first player only",
        (
            (
                "        node.strategy_sum[a] += own_reach * strategy[a]\n",
                "        node.strategy_sum[a] += p0 * strategy[a] * (player == 0)\n",
            ),
        ),
        "the average is summed in the pass of player 0 alone",
    ),
    WrongProgram(
        "kuhn",
        "strategy read too early",
        (
            (
                "        for a in (PASS, BET):\n"
                "            self.regret_sum[a] += self.new_regret[a]\n"
                "        self.new_regret = [0.0, 0.0]\n",
                "",
            ),
            (
                "[p / total if total > 0 else 0.5 for p in positive]\n",
                "[p / total if total > 0 else 0.5 for p in positive]\n"
                "        for a in (PASS, BET):\n"
                "            self.regret_sum[a] += self.new_regret[a]\n"
                "        self.new_regret = [0.0, 0.0]\n",
            ),
        ),
        "the order of two statements",
    ),
    WrongProgram(
        "kuhn",
        "regrets overwritten",
        (("self.regret_sum[a] += self.new_regret[a]", "self.regret_sum[a] = self.new_regret[a]"),),
        "= in place of +=",
    ),
    WrongProgram(
        "plus",
        "discount at each history",
        (
            (
                "    new[key][a] += r\n",
                "    regret[key][a] = regret[key][a] * (t - 1) / t + r\n",
            ),
            ("regret[key][a] = max(regret[key][a] + new[key][a], 0.0)", "pass"),
        ),
        "linear CFR that multiplies by (t - 1) / t wherever it adds",
        iterations=8,
    ),
    WrongProgram(
        "leduc",
        "chance missing",
        (("total[i] += p * won[i]", "total[i] += won[i]"),),
        "values of boards are added, not averaged",
        iterations=8,
    ),
    WrongProgram(
        "leduc",
        "chance twice",
        (("total[i] += p * won[i]", "total[i] += p * p * won[i]"),),
        "utilities have the probability already",
        iterations=8,
    ),
]


def run_program(name: str, edits: tuple[tuple[str, str], ...], iterations: int) -> dict[int, Any]:
    """What a program prints after each iteration."""
    text = PROGRAMS[name]
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    scope: dict[str, Any] = {}
    exec(text, scope)
    tables = {}
    for t in range(1, iterations + 1):
        scope["iterate"](t)
        tables[t] = {
            label: dict(row) if isinstance(row, dict) else list(row)
            for label, row in scope["table"]().items()
        }
    return tables
