"""Random spots, names of games, options, locks and requests of the viewer, for ``scripts.fuzz``.

An input is a good one with some parts exchanged for others.  An answer may be an error that is
documented: a ValueError, a TypeError, one of memory or of a missing package; of the viewer, a
status below 500 or 507.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import tensorcfr
from tensorcfr.compilers import game_size
from tensorcfr.errors import MissingExtraError
from tensorcfr.formats import parse_spot
from tensorcfr.games import GAMES, SPOTS, make_spot
from tensorcfr.sweep import read_algorithm
from tensorcfr.viewer.library import Library
from tensorcfr.viewer.routes import FORM, ROUTES, refusal, respond_to
from tensorcfr.viewer.session import Session
from tensorcfr.viewer.spot_form import SpotForm

from ._fuzzing import DefectError, Watch, limited

LIMIT = 24 << 20
"""Bytes that compiling may take."""
DOCUMENTED = (ValueError, TypeError, MemoryError, MissingExtraError)
"""Errors of calls in Python."""

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 7, 2**31, 2**63, 10**400, -(10**400), 1.5, 1e-310, 1e308),
    *(float("nan"), float("inf"), "", " ", "x", "\0", "\ud800", "💥", "x" * 3000, "9" * 400, "-"),
    *([], {}, [[]], [None], {"": 1}, {"a": {}}, {"flop": 1}, [1, 2], ["AA"], ["AA", "KK"]),
    ["a"] * 9,
    *(float, object, b"x", (), {1, 2}, range(3), 1j, "nan", "1e999", "(", ")", "a=", "=", "[]:1"),
)
"""Values that replace parts of good inputs."""
CARDS = ("Td9d6h", "Td9d6hQc", "Td9d6hQc2s", "6h7h8h", "AhAh2c", "Zz", "Td9d6hQc2s3d")
RANGES = ("AA", "KK,QQ:0.5", "random", "22-77", "A2s+", "AAKK", "AsKs", "AA:2", "KK-", "QQ:")
TEXTS = ("50%", "33%,75%,a", "2x,3x", "min", "1c", "1c,2c,3c", "e", "2e,a", "3e200%", "pot", "5c2r")
TEXTS_OF_SPOTS = (
    "pot = 5",
    "set_pot 50\nset_board Qs,Jh,2h\nset_effective_stack 9",
    "set_board Td9d6h\nset_pot 0 0 50\nset_eff_stack 9\nadd_line 0 0 0",
    '{"startingPot": 5, "effectiveStack": "x"}',
    "variant = 'NT'\nactions = []",
    "[1]\nvariant = 'NT'",
)
LINES = ("check bet5", "check check", "bet5 raise20", "fold", "bet", "allin call", "check  ", "x y")


def of(dice: Random, pool: tuple[Any, ...]) -> Any:
    """Choose one of some values, or an odd one."""
    return dice.choice(ODD if dice.random() < 0.06 else pool)


def spot_options(dice: Random) -> dict[str, Any]:
    """Return random options of a spot."""
    few: dict[str, tuple[Any, ...]] = {
        "big_blind": (1, 2, 0.5),
        "chip": (1, 0.5, 0.1, 1e-6, 100),
        "bets": (*TEXTS, {"flop": "50%"}, {"oop": "50%", "ip": "a"}, {"river": {"oop": "a"}}),
        "raises": (*TEXTS, {"flop": "2x", "turn": "min", "river": ""}),
        "donk": (*TEXTS, {"turn": "50%"}),
        "rake": (0, 0.05, 1, 2),
        "rake_cap": (0, 3, 1e9),
        "add_allin": (0, 1.5, 1e9),
        "force_allin": (0, 0.15, 1e9),
        "merging": (0, 0.1, 1e9),
        "add": ([dice.choice(LINES)], dice.choice(LINES)),
        "remove": ([dice.choice(LINES)], dice.choice(LINES)),
        "dead": ("2c2d", "Td", "x"),
        "folded": (["72o"], ["random"] * dice.randint(1, 5), "AA"),
    }
    found = {
        "board": of(dice, CARDS),
        "ranges": of(dice, tuple([dice.choice(RANGES), dice.choice(RANGES)] for _ in range(4))),
        "pot": of(dice, (1, 10, 55.5, 10**9)),
        "stacks": of(dice, (1, 20, 100, 1000, 10**6, 10**9)),
    }
    if dice.random() < 0.4:
        found["game"] = of(dice, (*SPOTS, "kuhn", "holdem()", "holdem(pot=5)", "spot.toml"))
    for name in dice.sample(sorted(few), dice.randint(0, 5)):
        found[name] = of(dice, few[name])
    if dice.random() < 0.05:
        found.pop(dice.choice(sorted(found)))
    if dice.random() < 0.03:
        found[str(of(dice, ("path", "game ", "")))] = of(dice, (1,))
    return found


def try_spot(dice: Random, _: Seen) -> None:
    """Count the size of a spot with random options."""
    game_size(make_spot(**spot_options(dice)), seconds=0.5, memory_limit=LIMIT)


def try_text(dice: Random, _: Seen) -> None:
    """Read a spot as TOML; some values make it invalid."""
    options = spot_options(dice).items()
    lines = [f"{name} = {json.dumps(value, default=repr)}" for name, value in options]
    if dice.random() < 0.3:
        lines.append(dice.choice(("[ranges]", "x", "a.b.c = 1", "game = 1979-05-27", "pot = inf")))
    dice.shuffle(lines)
    parse_spot("\n".join(lines))


def name_of_game(dice: Random) -> str:
    """Return a random name of a game with parameters."""
    name = dice.choice(sorted(GAMES))
    known = sorted(GAMES[name].parameters)
    chosen = dice.sample(known, min(len(known), dice.randint(0, 3)))
    small = (1, 2, 3, 5, 30, 10**4, 10**9, (2, 1), (1, 1, 1), "23", "random", [[1, 2], [3, 4]])
    listed = [f"{one}={of(dice, (*small, *TEXTS, *CARDS))!r}" for one in chosen]
    text = f"{name}({', '.join(listed)})"
    if dice.random() < 0.3:
        at = dice.randrange(len(text))
        text = text[:at] + dice.choice(("(", ")", "{[]:1}", "=", ",", "\0", "9" * 99)) + text[at:]
    if dice.random() < 0.05:
        text += dice.choice((".efg", ".nfg", ".toml", ".txt", ".py"))
    return text


def try_name(dice: Random, _: Seen) -> None:
    """Compile or count a game by a name with parameters; no file has that name."""
    name = name_of_game(dice)
    try:
        if dice.random() < 0.5:
            game_size(name, seconds=0.2, memory_limit=LIMIT)
        else:
            tensorcfr.compile_game(name, memory_limit=LIMIT // 4)
    except OSError:
        pass


def try_options(dice: Random, _: Seen) -> None:
    """Try options of a game as keywords, and options of an algorithm in a text."""
    if dice.random() < 0.3:
        read_algorithm(f"{of(dice, ('cfr+', 'dcfr', 'egt'))}(alpha={dice.choice(ODD)!r})")
    name = dice.choice(sorted(set(GAMES) - set(SPOTS)))
    known = sorted(GAMES[name].parameters)
    chosen = dice.sample(known, min(len(known), dice.randint(1, 3)))
    options = {one: of(dice, (1, 2, 3, (1, 2), "23", [("Jc", 2.0)], 0.5)) for one in chosen}
    game_size(name, seconds=0.2, memory_limit=LIMIT, **options)


class Seen:
    """Games that are looked at."""

    def __init__(self) -> None:
        river = {"board": "Td9d6hQc2s", "ranges": ("AA,KK", "QQ"), "pot": 10, "stacks": 30}
        self.games = [
            tensorcfr.compile_game("kuhn"),
            tensorcfr.compile_game("leduc(ranks=2)", cut=2),
            tensorcfr.compile_game("holdem", **river, bets="a"),
        ]
        solved = [tensorcfr.solve(game, "cfr", iters=1) for game in self.games]
        self.sessions = [Session(one) for one in solved]


def locks(dice: Random) -> Any:
    """Return locks, most of them invalid."""
    labels = ("K", "Kb", "AA check", "* check", "QQ allin", "KK", "J pass", "start", "* *")
    actions = ("bet", "pass", "check", "call", "fold", "allin", "raise")
    return of(dice, ({"K": {"bet": 1}}, *made(dice, labels, actions)))


def made(dice: Random, labels: tuple[str, ...], actions: tuple[str, ...]) -> Iterator[Any]:
    """Return mappings of labels to probabilities."""
    for _ in range(3):
        label = of(dice, labels)
        action = of(dice, actions)
        if all(getattr(one, "__hash__", None) for one in (label, action)):
            yield {label: of(dice, ({action: of(dice, (0, 0.5, 1))},))}


def try_locks(dice: Random, seen: Seen) -> None:
    """Try locks of a game."""
    tensorcfr.Locks(dice.choice(seen.games), locks(dice))


def try_viewer(dice: Random, seen: Seen) -> None:
    """Send a request to the viewer."""
    session, start = dice.choice(seen.sessions), SpotForm()
    path = dice.choice(sorted(ROUTES))
    method = ROUTES[path][0] if dice.random() < 0.95 else "PUT"
    body: Any = None
    if method == "GET":
        names = ("board", "values", "next", "line", "hands", "x")
        asked = {
            **{"id": of(dice, (0, 1, 2, 9, 10**17)), "solution": of(dice, (0, 1))},
            **{"name": of(dice, names), "q": of(dice, ("K", "AA", "check", "* check"))},
        }
        chosen = dice.sample(sorted(asked), dice.randint(1, 4))
        path += "?" + urlencode({one: f"{asked[one]}" for one in chosen}, errors="replace")
    elif path == f"{FORM}range":
        body = {"text": of(dice, RANGES), "game": of(dice, tuple(SPOTS))}
    elif path in (f"{FORM}size", f"{FORM}tree"):
        body = {"spot": spot_options(dice), "precision": of(dice, ("int16", "float32", None))}
        body |= {"line": of(dice, ([], ["check"], ["bet5", "call"])), "size": of(dice, TEXTS)}
    elif path == f"{FORM}read":
        body = {"text": of(dice, TEXTS_OF_SPOTS), "name": of(dice, ("", "a.json", "b.toml"))}
    elif path in (f"{FORM}save", f"{FORM}open", f"{FORM}remove", f"{FORM}page"):
        body = entry(dice)
    elif path == f"{FORM}solve":
        body = {"iterations": of(dice, (1,)), "target": of(dice, (1, 0.5, None))}
        key, value = dice.choice((("spot", spot_options(dice)), ("game", name_of_game(dice))))
        body[key] = value
        start._build = lambda *_: None  # type: ignore[method-assign]
    else:
        body = {"locks": locks(dice), "iterations": of(dice, (1,)), "target": of(dice, (1, None))}
        # Checks before a solve begins are the same in a busy session.
    if body is not None:
        if dice.random() < 0.05:
            body = of(dice, (1, "x", [], None))
        # Only values that JSON has arrive.
        body = json.loads(json.dumps(body, default=repr, skipkeys=True))
    try:
        answer = respond_to(session, start, method, path, body)
        json.loads(answer, parse_constant=lambda text: 1 / 0)
    except Exception as error:
        status, _ = refusal(error, path)
        if status == 500:
            raise
    finally:
        if session.running is not None:
            session.stop()


def entry(dice: Random) -> dict[str, Any]:
    """Request for an entry of the library."""
    return {
        "kind": of(dice, ("spots", "ranges", "solutions")),
        "name": of(dice, ("x", "two words", "../x", "a/b", "CON", ".x", "a\\b", "x.toml")),
        "text": of(dice, RANGES),
        "spot": spot_options(dice),
        "force": of(dice, (True, False)),
        "solution": of(dice, (0, 1)),
        "view": of(dice, ({}, {"address": "#1", "locks": {}}, {"address": 5})),
        "form": of(dice, ({}, {"pot": "5.5"})),
    }


def try_library(dice: Random, seen: Seen) -> None:
    """Send requests for entries of the library, all in a folder of this process."""
    library = Library("library")
    start, request = SpotForm(dice.choice(seen.sessions), library), entry(dice)
    work = dice.choice((start.save, start.open, start.remove, start.keep_page))
    path = library.path(request["kind"], request["name"])
    if path.parent.parent != library.folder or path.resolve().parent != path.parent.resolve():
        raise RuntimeError(f"{path} is outside of the library")
    try:
        work(request)
    except FileNotFoundError:
        pass
    finally:
        start.cancel()


KINDS: dict[str, tuple[float, Callable[[Random, Seen], None], bool]] = {
    "spots": (0.3, try_spot, False),
    "texts": (0.15, try_text, False),
    "names": (0.15, try_name, True),
    "options": (0.1, try_options, False),
    "locks": (0.1, try_locks, False),
    "viewer": (0.2, try_viewer, False),
    "library": (0.05, try_library, True),
}
"""Share of each kind, function that tries an input, and whether the input may name files."""
SHARES = {kind: share for kind, (share, _, _) in KINDS.items()}


def prepare(folder: Path, kinds: list[str]) -> None:
    """Prepare nothing: batches share no file."""


class Inputs:
    """Random inputs of a kind.

    Args:
        folder: Folder in which files are written.
        seed: Seed of the draws.
        kind: One of :data:`KINDS`.
    """

    def __init__(self, folder: Path, seed: int, kind: str) -> None:
        self.seed, self.kind, self.seen = seed, kind, Seen()
        _, self.work, self.may_open = KINDS[kind]
        os.chdir(folder)

    def try_input(self, number: int, watch: Watch) -> str:
        """Try an input; return the result.

        Raises:
            DefectError: An error has no message.
        """
        dice = Random(f"{self.seed} {self.kind} {number}")
        try:
            with limited(), nullcontext() if self.may_open else watch():
                self.work(dice, self.seen)
        except DOCUMENTED as error:
            if not str(error):
                raise DefectError(f"{type(error).__name__} is empty") from error
            return "refused"
        return "answered"
