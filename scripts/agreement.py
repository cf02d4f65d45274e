"""Spots of hold'em drawn at random: this library and postflop-solver judge each other's strategies.

    python -m scripts.agreement solve --anchor PATH      forty spots, without those already solved
    python -m scripts.agreement record --anchor PATH     three small rivers for the tests
    python -m scripts.agreement page                     the table of docs/results/agreement.md

Each program solves each spot to 0.05 % of the pot.  Then both work out the exploitability, and the
value of every hand at the start, of both strategies.  ``PATH`` is as for :mod:`benchmarks.holdem`.
Figures go to ``benchmarks/results/agreement.json``, rivers to ``tests/data/anchor_rivers.json``.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import progress, table
from benchmarks.holdem import build_anchor
from tensorcfr import CompiledGame, compile_game, solve
from tensorcfr.analysis.policy_values import Values
from tensorcfr.compilers import game_size
from tensorcfr.compilers.cards.card_public_nodes import CardNodes
from tensorcfr.compilers.cards.equity import equities
from tensorcfr.formats import ByLine, find_policy
from tensorcfr.games.holdem import CARDS, HANDS, hand_label, read_range
from tensorcfr.games.poker.betting import STREETS
from tensorcfr.games.poker.spot import PLAYERS
from tensorcfr.model.function_policies import Situation

from ._pages import DOCS, RESULTS, ROOT, arguments, origin, read_json, write_json, write_parts

FILE = RESULTS / "agreement.json"
RIVERS = ROOT / "tests" / "data" / "anchor_rivers.json"
PAGE = DOCS / "results" / "agreement.md"
SOURCE = "postflop-solver, commit 9d1509f, by benchmarks/holdem_anchor.rs"
TARGET = 0.0005
"""Target, as a share of the pot."""
SEED = 27
KINDS = {"river": (5, 28, 12, 50), "turn": (4, 9, 6, 25), "flop": (3, 3, 2, 5)}
"""By street: cards of the board, spots, and the fewest and most groups of a range."""
FOLDED = {"river 1": 1, "river 22": 2, "turn 2": 1, "turn 8": 2, "flop 2": 2, "river 28": 3}
"""Spots that are solved again after so many players have folded."""
RECORDED = (3, 4, 7)
"""Seeds of the rivers for the tests."""
MOST_INFOSETS = 3_000_000
RANKS = "AKQJT98765432"
GROUPS = [f"{rank}{rank}" for rank in RANKS] + [
    f"{high}{low}{suits}"
    for k, high in enumerate(RANKS)
    for low in RANKS[k + 1 :]
    for suits in "so"
]
CARD = re.compile(r"[2-9TJQKA][cdhs]")


# ----------------------------------------------------------------------- the spots


def drawn_spots() -> dict[str, dict[str, Any]]:
    """Return forty spots, the same in every run."""
    rng, found = random.Random(SEED), dict[str, dict[str, Any]]()
    for street, (cards, count, fewest, most) in KINDS.items():
        number = 0
        while number < count:
            spot = drawn_spot(rng, street, cards, fewest, most)
            if game_size("holdem", **spot).infosets <= MOST_INFOSETS:
                number += 1
                found[f"{street} {number}"] = spot
    for name, players in FOLDED.items():
        # A player who folds has none of the best hands.
        folded = (f"random,!top {rng.randint(15, 30)}%" for _ in range(players))
        # With weights, postflop-solver counts folded amounts in another unit than exploitability.
        ranges = (re.sub(":[0-9.]+", "", text) for text in found[name]["ranges"])
        changed = {"ranges": tuple(ranges), "folded": tuple(folded)}
        found[f"{name}, {players} folded"] = found[name] | changed
    return found


def drawn_spot(
    rng: random.Random, street: str, cards: int, fewest: int, most: int
) -> dict[str, Any]:
    """Return one random spot."""

    def drawn_range() -> str:
        groups = rng.sample(GROUPS, rng.randint(fewest, most))
        weights = rng.choices((1, 0.75, 0.5, 0.25, 0.1), (4, 1, 1, 1, 1), k=len(groups))
        pairs = zip(groups, weights, strict=True)
        return ",".join(group if weight == 1 else f"{group}:{weight}" for group, weight in pairs)

    def sizes(texts: tuple[str, ...], most: int) -> str:
        return ",".join(rng.sample(texts, rng.randint(1, most)))

    many = {"river": 3, "turn": 2, "flop": 1}[street]
    streets = STREETS[cards - 3 :]
    pot = rng.randint(20, 400)
    bets, raises = ("33%", "50%", "75%", "120%", "a", "e", "37c"), ("60%", "2.5x", "3x", "a", "e")

    def by_street_and_player(texts: tuple[str, ...], most: int) -> dict[str, dict[str, str]]:
        return {street: {player: sizes(texts, most) for player in PLAYERS} for street in streets}

    spot: dict[str, Any] = {
        "board": "".join(rng.sample(CARDS, cards)),
        "ranges": (drawn_range(), drawn_range()),
        "pot": pot,
        "stacks": round(pot * rng.choice((0.5, 1, 2, 4, 8))),
        "bets": by_street_and_player(bets, many),
        "raises": by_street_and_player(raises, min(many, 2)),
        "add_allin": rng.choice((0, 1, 1.5, 2.5)),
        "force_allin": rng.choice((0, 0.1, 0.15, 0.3)),
        "merging": rng.choice((0, 0.1, 0.2)),
    }
    if rng.random() < 0.3:
        spot |= {"rake": rng.choice((0.03, 0.05)), "rake_cap": rng.randint(1, pot // 10)}
    if street != "river" and rng.random() < 0.6:
        spot["donk"] = {one: rng.choice(("25%", "50%", "a")) for one in streets[1:]}
    return spot


# ----------------------------------------------------------------------- what the anchor says


@dataclass
class Answer:
    """Answer of postflop-solver about a spot and a strategy."""

    exploitability: float
    hands: list[list[frozenset[str]]]
    """Hands of each player's range, as sets of cards."""
    weights: list[np.ndarray]
    """Probability of each hand, float64 (hands,), for each player.  The next two fields have the
    same form, with equities and with shares of the pot in chips."""
    equities: list[np.ndarray]
    values: list[np.ndarray]
    lines: list[tuple[int, str, tuple[str, ...]]]
    """Decisions in the order of the file: who acts, the line, and the actions."""
    strategies: list[np.ndarray]
    """Strategy at each decision, float32 (hands, actions)."""

    @property
    def share(self) -> float:
        """The share of the pot, in chips, that player 0 expects."""
        return float(np.average(self.values[0], weights=self.weights[0]))

    def policy(self, board: str) -> ByLine:
        """Return the strategies as a policy."""
        known = {
            place(line, board): (actions, strategy)
            for (_, line, actions), strategy in zip(self.lines, self.strategies, strict=True)
        }
        at = [{hand: k for k, hand in enumerate(own)} for own in self.hands]

        def strategy(asked: Situation) -> np.ndarray:
            actions, found = known[asked.board, asked.line]
            if actions != asked.actions:
                raise ValueError(f"{actions} there, {asked.actions} here")
            return found[[at[asked.player][cards_of(hand)] for hand in asked.hands]]

        return ByLine(strategy)


def cards_of(hand: str) -> frozenset[str]:
    """Return the two cards of a hand."""
    return frozenset((hand[:2], hand[2:]))


def place(line: str, board: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the board and the actions of a line."""
    dealt = [board[k : k + 2] for k in range(0, len(board), 2)]
    steps = line.split()
    cards = [step for step in steps if CARD.fullmatch(step)]
    return (*dealt, *cards), tuple(step for step in steps if not CARD.fullmatch(step))


def ask(program: Path, spot: dict[str, Any], given: list[np.ndarray] | None = None) -> Answer:
    """Run postflop-solver on a spot: solve it, or evaluate strategies in the order of its
    decisions."""

    def both(sizes: dict[str, dict[str, str]]) -> str:
        # The program counts streets from the flop.
        texts = [";".join(sizes[street].values()) for street in STREETS if street in sizes]
        return "/".join([texts[0]] * (len(STREETS) - len(texts)) + texts)

    donk = spot.get("donk", {})
    texts = [donk.get(street, "-") for street in STREETS[1:]]
    thresholds = "/".join(str(spot[name]) for name in ("add_allin", "force_allin", "merging"))
    arguments = [*spot["ranges"], spot["board"], spot["pot"], spot["stacks"]]
    arguments += [both(spot["bets"]), both(spot["raises"]), "/".join(texts)]
    arguments += [spot.get("rake", 0), spot.get("rake_cap", 0), 1, 0, TARGET * spot["pot"]]
    folded = "|".join(map(hand_by_hand, spot.get("folded", [])))
    arguments += ["float32", thresholds, folded or "-"]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "found"]
        if given is not None:
            files.append(Path(folder) / "given")
            files[1].write_bytes(b"".join(one.T.astype("<f4").tobytes() for one in given))
        command = [str(program), *map(str, [*arguments, *files])]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return read_answer(done.stdout, np.fromfile(files[0], dtype="<f4"))


def hand_by_hand(text: str) -> str:
    """Write a range without weights in the form that postflop-solver reads."""
    return ",".join(hand_label(hand) for hand in HANDS[read_range(text) > 0.0])


def read_answer(output: str, numbers: np.ndarray) -> Answer:
    """Read the output of the program and the strategies of its file."""
    rows = dict[str, list[list[str]]]()
    lines, exploitability = [], float("nan")
    for text in output.splitlines():
        name, _, rest = text.partition(" ")
        if name == "exploitability":
            exploitability = float(rest)
        elif name == "decision":
            before, actions = rest.split(" | ")
            player, _, line = before.partition(" ")
            lines.append((int(player), line, tuple(actions.split())))
        elif name in ("weights", "equities", "values") or text[:8] in ("hands 0 ", "hands 1 "):
            rows.setdefault(name, []).append(rest.split()[1:])
    # The first line of a solve begins with "hands", too.
    hands = [[cards_of(hand) for hand in own] for own in rows["hands"][-2:]]
    strategies, first = [], 0
    for player, _, actions in lines:
        last = first + len(actions) * len(hands[player])
        strategies.append(numbers[first:last].reshape(len(actions), -1).T)
        first = last
    assert first == len(numbers)
    found = [[np.array(own, dtype=float) for own in rows[name]] for name in rows if name != "hands"]
    return Answer(exploitability, hands, *found, lines, strategies)


# ----------------------------------------------------------------------- what this library says


def values_of_hands(shown: Values) -> list[dict[frozenset[str], float]]:
    """Return for each player the share of the pot in chips that each hand expects at the start."""
    half = CardNodes.of(shown.game).rules.pot / 2
    return [
        {cards_of(hand): value + half for hand, value in zip(own, found.tolist(), strict=True)}
        for own, found in zip(shown.nodes.hands, shown.of_players(0), strict=True)
    ]


def equities_of_hands(game: CompiledGame) -> list[dict[frozenset[str], float]]:
    """Return for each player the equity of each hand at the start."""
    rules = CardNodes.of(game).rules
    found = equities(rules, rules.board, tuple(rules.weights), 5 - len(rules.board))
    return [
        {cards_of(hand): equity for hand, equity in zip(own, numbers.tolist(), strict=True)}
        for own, numbers in zip(game.nodes.hands, found, strict=True)
    ]


def strategies_for(answer: Answer, shown: Values) -> list[np.ndarray]:
    """Return this library's strategies at the decisions of an answer, float64 (hands, actions)
    each.  They are uniform for hands with a card of the board, and at decisions with one action."""
    nodes, found = shown.nodes, []
    at = [{cards_of(hand): k for k, hand in enumerate(own)} for own in nodes.hands]
    order = [np.array([at[p][hand] for hand in answer.hands[p]]) for p in range(2)]
    for player, line, actions in answer.lines:
        node = nodes.find_line(line)
        rows = np.full((len(order[player]), len(actions)), 1.0 / len(actions))
        if len(actions) > 1:
            free = np.flatnonzero(nodes.possible(node, player)[order[player]])
            numbers = nodes.layout(node).numbers(order[player][free])
            rows[free] = shown.at(numbers).strategy
        found.append(rows)
    return found


def differ(answer: Answer, what: str, found: list[dict[frozenset[str], float]]) -> float:
    """Return the largest difference over the hands of both players that meet another hand."""
    return max(
        abs(number - own[hand])
        for own, hands, row in zip(found, answer.hands, getattr(answer, what), strict=True)
        for hand, number in zip(hands, row.tolist(), strict=True)
        if not math.isnan(own[hand])
    )


def compare(program: Path, spot: dict[str, Any]) -> dict[str, Any]:
    """Solve a spot with both programs, and evaluate both strategies with both programs."""
    pot, board = spot["pot"], spot["board"]
    theirs = ask(program, spot)
    # Suits are told apart here: rounding does so in their strategies.
    whole = compile_game("holdem", **spot, symmetry=False)
    shown = [Values(find_policy(whole, theirs.policy(board)))]
    game = compile_game("holdem", **spot)
    solution = solve(game, target=TARGET * pot, precision="float32")
    shown.append(Values(solution.policy))
    answers = [theirs, ask(program, spot, strategies_for(theirs, shown[1]))]
    sequences = 2 + sum(
        len(actions) * sum(hand.isdisjoint(place(line, board)[0]) for hand in theirs.hands[player])
        for player, line, actions in theirs.lines
        if len(actions) > 1
    )
    found = [one.evaluation for one in shown]
    return {
        "hands": [len(own) for own in theirs.hands],
        "decisions": len(theirs.lines),
        "sequences": [sequences, whole.n_sequences],
        "exploitability": [
            [answer.exploitability / pot, one.exploitability / pot]
            for answer, one in zip(answers, found, strict=True)
        ],
        "values of hands": [
            differ(answer, "values", values_of_hands(one)) / pot
            for answer, one in zip(answers, shown, strict=True)
        ],
        "equities": differ(theirs, "equities", equities_of_hands(game)),
        "root": [theirs.share / pot - 0.5, found[1].values[0] / pot],
        "bound": max(found[k].gains[0] + found[1 - k].gains[1] for k in range(2)) / pot,
    }


# ----------------------------------------------------------------------- files and the page


def solve_all(program: Path) -> None:
    """Compare all spots; kept after each."""
    kept = {"spots": {}} | read_json(FILE)
    for name, spot in drawn_spots().items():
        if kept["spots"].get(name, {}).get("spot") != json.loads(json.dumps(spot)):
            kept["spots"][name] = compare(program, spot) | {"spot": spot}
            write_json(FILE, kept | {"source": SOURCE} | origin())
            progress(f"{name}: {kept['spots'][name]}")


def record(program: Path) -> None:
    """Record three small rivers with the strategies of postflop-solver for the tests."""
    rows = []
    for seed in RECORDED:
        spot = drawn_spot(random.Random(seed), "river", 5, 3, 5)
        answer = ask(program, spot)
        rows.append(
            {
                "spot": spot,
                "exploitability": answer.exploitability,
                "hands": [["".join(sorted(hand)) for hand in own] for own in answer.hands],
                "equities": [own.tolist() for own in answer.equities],
                "values": [own.tolist() for own in answer.values],
                "decisions": [
                    [player, line, " ".join(actions), np.float32(strategy).tolist()]
                    for (player, line, actions), strategy in zip(
                        answer.lines, answer.strategies, strict=True
                    )
                ],
            }
        )
    RIVERS.write_text(json.dumps({"source": SOURCE, "rivers": rows}) + "\n")


def agreement_table() -> str:
    """Write the table of the page."""
    kept = read_json(FILE)
    body = []
    for name, row in kept["spots"].items():
        spot = row["spot"]
        (theirs, judged), (again, ours) = row["exploitability"]
        root = abs(row["root"][0] - row["root"][1])
        is_raked = bool(spot.get("rake"))
        body.append(
            [
                f"{name}, {spot['board']}" + (", rake" if is_raked else ""),
                " and ".join(map(str, row["hands"])),
                f"{row['sequences'][1]:,}",
                f"{100 * judged:.4f}",
                f"{100 * abs(theirs - judged):.0e}",
                f"{100 * ours:.4f}",
                f"{100 * abs(again - ours):.0e}",
                f"{100 * max(row['values of hands']):.0e}",
                f"{100 * row['equities']:.0e}",
                f"{100 * root:.4f}",
                "" if is_raked else f"{100 * row['bound']:.4f}",
            ]
        )
    heads = ["spot", "hands", "sequences", "theirs", "differs by", "ours", "differs by"]
    heads += ["values of hands", "equities", "values of the spot", "may differ by"]
    return table(heads, body) + f"\n\n{kept['source']}; {kept['versions']}; {kept['date']}."


def main() -> None:
    """Solve, record, or write."""
    parser = arguments(__doc__)
    parser.add_argument("what", choices=("solve", "record", "page"))
    parser.add_argument("--anchor", default=os.environ.get("POSTFLOP_SOLVER"))
    options = parser.parse_args()
    if options.what == "page":
        write_parts(PAGE, "agreement", {"spots": agreement_table()})
        return
    program = build_anchor(Path(options.anchor or ""))
    if program is None:
        raise SystemExit("postflop-solver is needed: give --anchor")
    {"solve": solve_all, "record": record}[options.what](program)


if __name__ == "__main__":
    main()
