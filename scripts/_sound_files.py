"""The sound files that ``scripts.fuzz`` damages: of every kind, each small."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tensorcfr import compile_game, save_game, solve, team_game
from tensorcfr.algorithms import ALGORITHMS, CFR_D, OUTCOME_SAMPLING
from tensorcfr.analysis.table_files import save_rows
from tensorcfr.formats import save_efg, save_nfg, save_policy
from tensorcfr.sweep import sweep

POLICIES = ("csv", "json", "npz", "parquet")
"""The loaders of policies."""
IN_CHUNKS_OF = ("chunks", "checkpoint", "resume")
"""The loaders of solutions of games in chunks: by themselves; into a ``state_dir`` with leftovers;
the same by a caller who has the game, as a solve that goes on does."""
ARCHIVES = ("game", "solution", "cut", "rules", *IN_CHUNKS_OF, "header")
"""The loaders of archives with a header; ``rules`` are solutions of games that are not compiled."""
EXAMPLES = Path(__file__).parent.parent / "tests" / "data" / "gambit"
"""Files of Gambit with features that the library does not write."""
RULES = "game/rules/text"
"""The array of files of games that are not compiled."""
TEXTS = ("header", "game/cut/text", RULES)
"""Arrays that hold an object of JSON."""
GAMES = (
    "kuhn",
    "kuhn(players=3)",
    "leduc(ranks=2)",
    "goofspiel(cards=2)",
    "matching_pennies",
    "liars_dice(faces=2)",
)
RIVER = (
    "holdem(board='Td9d6hQd3c', ranges=('AhAs,KdKc', 'QsQh,8h8s,JsTs'), pot=100, stacks=150, "
    "bets='50%', raises='a')"
)
TURN = "holdem(board='Td9d6hQd', ranges=('AhAs', 'QsQh'), pot=100, stacks=150, bets='a')"
TWO_DEALS = (
    "nolimit_poker(stacks=4, ranks='JQKA', suits=2, hand=1, deals=(1, 1), raises='a', bets='a')"
)
CUT: tuple[tuple[str, Any], ...] = (
    *(("kuhn", 1), ("leduc(ranks=2)", 2), (RIVER, True)),
    *(("leduc(ranks=2)", (2, 4)), (TWO_DEALS, 1)),
)
"""Games in chunks, and where they are cut."""
IN_CHUNKS: tuple[tuple[str, Any, dict[str, Any]], ...] = (
    ("kuhn", 1, {"algorithm": "cfr+", "keep_best": True}),
    ("kuhn", 1, {"algorithm": "pcfr+", "precision": "float32", "locks": {"K": {"bet": 0.5}}}),
    ("leduc(ranks=2)", 2, {"algorithm": "dcfr", "precision": "int16"}),
    (RIVER, True, {"algorithm": "dcfr"}),
    (TURN, True, {"algorithm": "cfr+", "precision": "int16"}),
    ("leduc(ranks=2)", (2, 4), {"algorithm": "dcfr", "precision": "int16"}),
    (TWO_DEALS, 1, {"algorithm": "cfr+", "precision": "float32"}),
)
"""Solutions of games in chunks: the game, where it is cut, and arguments of ``solve``."""
FLAT: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("kuhn", "cfr+", {"keep_best": True}),
    ("kuhn", "dcfr", {"precision": "float32"}),
    ("kuhn", "hedge", {"locks": {"K": {"bet": 0.5}}}),
    ("kuhn", "cfr", {"locks": {"Q": {"bet": 1.0}}}),
    ("leduc(ranks=2)", "cfr+", {}),
    ("kuhn", "external_sampling", {}),
    ("kuhn", "outcome_sampling", {}),
    ("kuhn(players=3)", "pcfr+", {}),
    ("kuhn", "efce", {}),
    ("kuhn", "egt", {}),
    ("kuhn", "cfr-d", {}),
)
"""Solutions of games in one piece."""
ON_RULES = ("external_sampling", "outcome_sampling")
"""Algorithms of solutions of Kuhn poker that is not compiled."""
SPOTS = (
    """board = "Td9d6hQc" # a turn
pot = 200
stacks = 900
raises = "2.5x"

[ranges]
oop = "66+,A8s+:0.5"
ip = "QQ-22,AQs-A2s"

[bets]
turn = "60%"
river = "50%,2e150%,a"
""",
    """board = "Td9d6hQc2s"
pot = 10
stacks = 90
ranges = ["AA", "KK"]
bets = "3c"
raises = "20c3r"
donk = "a"
rake = 0.05
rake_cap = 3.0
merging = 0.2
add = ["check bet75"]
remove = ["bet3 raise23"]
""",
)
BOARDS = ("Td9d6hQd3c", "AhKd7c2s3s")
"""Boards of the table of a report."""
TEXTS_OF_BOARDS = ("board", "player", "spot")
"""Columns of that table without numbers."""
SPOT_OF_BOARDS = "0123456789abcdef"
"""Digest of the spot in the rows of that table."""
SETTINGS = """memory_limit = "2GiB"

[size]
seconds = 0.5
[solve]
keep_best = true
threads = 2
"""
SCRIPT = """set_pot 50
set_effective_stack 200
set_board Qs,Jh,2h,2c
set_range_ip AA,KK,99:0.75
set_range_oop QQ:0.5,JJ
set_bet_sizes oop,turn,bet,50
set_bet_sizes oop,turn,allin
set_bet_sizes oop,river,donk,40
set_bet_sizes ip,river,raise,60,75
set_allin_threshold 0.67
build_tree
"""
"""A spot of TexasSolver."""
TREE = {
    **{
        f"{player}{street}{kind}": "52, 2e200" if kind == "Bet" else "45 2.5x"
        for player in ("oop", "ip")
        for street in ("Flop", "Turn", "River")
        for kind in ("Bet", "Raise")
    },
    **{"startingPot": 180, "effectiveStack": 910, "rakePercent": 5, "rakeCap": 3},
    **{"addAllInThreshold": 150, "forceAllInThreshold": 20, "mergingThreshold": 10},
    **{"addedLines": "X-B120|X,X-A910", "removedLines": "", "donkOption": 1, "oopTurnDonk": "33"},
    **{"oopRiverDonk": "", "board": ["Td", "9d", "6h", "Qc"]},
}
"""A configuration of WASM Postflop."""
HAND = """variant = "NT"
antes = [0, 0]
blinds_or_straddles = [0.5, 1]
min_bet = 1
starting_stacks = [100, 120]
actions = [
    "d dh p1 AhKh", "d dh p2 ????", "p2 cbr 2.5", "p1 cc",
    "d db Td9d6h", "p1 cc", "p2 cbr 4", "p1 cc",
]
"""
"""A hand history."""


@dataclass
class Sound:
    """A sound file, taken apart."""

    kind: str
    content: bytes
    header: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    members: dict[str, bytes] = field(default_factory=dict)
    """The bytes of each array, its description included."""
    texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Names of the arrays that hold JSON as text; the header is one of them."""
    fingerprint: Any = None
    game: Any = None
    """The game, where the caller gives it to the loader."""


# Files to damage; they are made once, in a folder that all batches share.


def make_files(folder: Path, kinds: list[str]) -> None:
    """Write the sound files; those in chunks only for the kinds that read them."""
    for number, name in enumerate(GAMES):
        game = compile_game(name)
        if number % 2:
            game = replace(game, histories=game.tree)
        save_game(game, folder / f"game{number}.npz")
    for number, (name, at) in enumerate(CUT):
        save_game(compile_game(name, cut=at), folder / f"cut{number}.npz")
    in_chunks = IN_CHUNKS if set(IN_CHUNKS_OF) & set(kinds) else ()
    for number, (name, at, options) in enumerate(in_chunks):
        solution = solve(compile_game(name, cut=at), iters=7, **options)
        solution.save(folder / f"chunks{number}.npz")
    for number, text in enumerate(SPOTS):
        (folder / f"spot{number}.toml").write_text(text)
    (folder / "script0.txt").write_text(SCRIPT)
    (folder / "tree0.json").write_text(json.dumps(TREE))
    (folder / "hand0.phh").write_text(HAND)
    (folder / "settings0.toml").write_text(SETTINGS)
    make_boards(folder / "boards0.csv")
    for number, name in enumerate(ON_RULES):
        solve("kuhn", name, iters=7).save(folder / f"rules{number}.npz")
    players = team_game(compile_game("kuhn(players=3)"), ((0, 1), (2,)))
    solve(players, "cfr+", iters=7).save(folder / "solution-teams.npz")
    solve(compile_game("kuhn"), "lp").save(folder / "solution-lp.npz")
    for number, (name, algorithm, options) in enumerate(FLAT):
        record: Any = ALGORITHMS[algorithm]
        if record is OUTCOME_SAMPLING:
            record = record(baseline=0.5)
        if record is CFR_D:
            record = record(cut=1, subgame_iterations=4, resolve_iterations=6)
        solution = solve(compile_game(name), record, iters=7, **options)
        solution.save(folder / f"solution{number}.npz")
    sweep(folder / "table0.csv", ["kuhn", "leduc(ranks=2)"], ["cfr", "dcfr(alpha=2)"], iters=30)
    sweep(folder / "table1.csv", ["kuhn"], ["external_sampling", "cfr+"], iters=9, seeds=[0, 1])
    for number, name in enumerate(("kuhn", "kuhn(players=3)", "leduc(ranks=2)")):
        save_efg(compile_game(name), folder / f"efg{number}.efg")
    for number, name in enumerate(("matching_pennies", "goofspiel(cards=2)")):
        save_nfg(compile_game(name), folder / f"nfg{number}.nfg")
    for path in EXAMPLES.iterdir():
        kind = path.suffix.removeprefix(".")
        (folder / f"{kind}-{path.name}").write_bytes(path.read_bytes())
    policy = solve(compile_game("kuhn"), iters=9).policy
    for kind in POLICIES:
        save_policy(policy, folder / f"{kind}0.{kind}")


def make_boards(path: Path) -> None:
    """Write the table of a report on some boards."""
    rows = [
        {
            **{"board": board, "weight": 0.5, "player": "ip", "value": 12.5 + number},
            **{"equity": math.nan if number else 0.25, "check": 0.75, "bet50": 0.25},
            **{"exploitability": 0.01, "iterations": 40, "seconds": 0.5, "spot": SPOT_OF_BOARDS},
        }
        for number, board in enumerate(BOARDS)
    ]
    save_rows(rows, path)
