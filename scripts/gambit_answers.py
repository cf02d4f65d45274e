"""Answers of pygambit on games, as data for the tests.

pygambit has no wheels and takes minutes to build, so the fast tests do without it: they compare
the games and numbers of this library with the recorded ones.

    python -m scripts.gambit_answers            # write the files; tensorcfr[gambit] and pandas
    python -m scripts.gambit_answers --check    # compute all but quantal responses, and compare

``tests/data/quantal_answers.json`` has agent quantal response equilibria of some games.
``tests/data/gambit_answers.json`` has

    catalog     every game that pygambit ships: its text as pygambit writes it, whether its players
                have perfect recall, and the expected values under uniform play.  Names stand in
                place of titles and descriptions, which are prose of Gambit's authors.  Games with
                perfect recall also have the SHA-256 of the .efg text that this library writes, and
                the expected values of that text
    trees       games that this library writes as .efg: the SHA-256 of the text, the probabilities
                of some policies, and pygambit's numbers for them.  These are the expected values,
                the probability of every infoset, and the value of every action
    tables      games that this library writes as .nfg: the same digest, a mixed strategy of each
                player, and the expected values
"""

from __future__ import annotations

import hashlib
import io
import math
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tensorcfr import CompiledGame, compile_game
from tensorcfr.formats import save_efg, save_nfg

from ._pages import ROOT, arguments, read_json, write_json

DATA = ROOT / "tests" / "data"
ANSWERS, QUANTAL = DATA / "gambit_answers.json", DATA / "quantal_answers.json"
RESPONSES = ("kuhn", "kuhn(players=3)", "liars_dice(faces=2)", "chicken")
"""Games of quantal responses."""
RATIONALITY = (0.5, 2.0, 10.0)
FIRST_STEP = 0.01
"""First step of pygambit's trace; with its usual one it leaves some branches."""
TREES = ("kuhn", "kuhn(players=3)", "goofspiel(cards=3)", "chicken", "leduc")
SEEDS = (1, 3)
"""Random policies of each tree, in addition to the uniform one."""
MOST_INFOSETS = 100
"""Largest number of infosets; of larger games only the expected values under uniform play are
recorded."""
TABLES = (("kuhn(cards=2)", False), ("chicken", True), ("matching_pennies_3p", False))
"""Games whose payoffs are exact on every machine, and whether to write the outcome version."""
TOLERANCE = 1e-12


def catalog() -> dict[str, Any]:
    """Record pygambit's answers on the games that it ships."""
    import pygambit

    found = {}
    for name in pygambit.catalog.games()["Game"]:
        game = pygambit.catalog.load(name)
        game.title, game.description = name, ""
        said = found[str(name)] = {
            "kind": "efg" if game.is_tree else "nfg",
            "perfect_recall": bool(game.is_perfect_recall) if game.is_tree else True,
            "uniform": _values(_uniform(game)),
            "text": game.to_efg() if game.is_tree else game.to_nfg(),
        }
        if said["perfect_recall"]:
            text = written(compile_game(game), "efg")
            again = pygambit.read_efg(io.BytesIO(text))
            said["written"] = {
                "sha256": hashlib.sha256(text).hexdigest(),
                "uniform": _values(_uniform(again)),
            }
    return found


def trees() -> dict[str, Any]:
    """Record pygambit's answers on the trees that this library writes."""
    import pygambit

    found = {}
    for name in TREES:
        game = compile_game(name)
        text = written(game, "efg")
        theirs = pygambit.read_efg(io.BytesIO(text))
        policies = {"uniform": _uniform(theirs)}
        if game.n_infosets <= MOST_INFOSETS:
            policies |= {f"seed {seed}": _random(theirs, seed) for seed in SEEDS}
        found[name] = {
            "sha256": hashlib.sha256(text).hexdigest(),
            "policies": {
                key: {"values": _values(profile), "infosets": _by_infoset(profile)}
                if game.n_infosets <= MOST_INFOSETS
                else {"values": _values(profile)}
                for key, profile in policies.items()
            },
        }
    return found


def tables() -> dict[str, Any]:
    """Record pygambit's answers on the normal forms that this library writes."""
    import pygambit

    found = {}
    for name, outcomes in TABLES:
        text = written(compile_game(name), "nfg", outcomes=outcomes)
        theirs = pygambit.read_nfg(io.BytesIO(text))
        found[name] = {
            "outcomes": outcomes,
            "sha256": hashlib.sha256(text).hexdigest(),
            "strategies": _mix(profile := theirs.mixed_strategy_profile()),
            "values": _values(profile),
        }
    return found


def written(game: CompiledGame, kind: str, **options: bool) -> bytes:
    """Return the bytes of the file that this library writes of a game."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"game.{kind}")
        save = save_efg if kind == "efg" else save_nfg
        return save(game, path, **options).read_bytes()


def _uniform(game: Any) -> Any:
    """Return pygambit's profile in which all actions, or strategies, are equally likely."""
    return game.mixed_behavior_profile() if game.is_tree else game.mixed_strategy_profile()


def _random(game: Any, seed: int) -> Any:
    """Return a random profile with positive probabilities."""
    profile = game.mixed_behavior_profile()
    for infoset in game.infosets:
        if not infoset.is_chance:
            _draw(profile, infoset.actions, f"{seed} {infoset.label}")
    return profile


def _mix(profile: Any) -> list[dict[str, float]]:
    """Give every strategy a positive probability; returns them for each player, by label."""
    for number, player in enumerate(profile.game.players):
        _draw(profile, player.strategies, f"mixed {number}")
    return [{one.label: float(profile[one]) for one in p.strategies} for p in profile.game.players]


def _draw(profile: Any, choices: Any, seed: str) -> None:
    """Write random probabilities of some choices into a profile, the same in every run."""
    drawn = Random(seed)
    weights = [0.1 + drawn.random() for _ in choices]
    for choice, weight in zip(choices, weights, strict=True):
        profile[choice] = weight / sum(weights)


def _values(profile: Any) -> list[float]:
    return [float(profile.payoff(player)) for player in profile.game.players]


def _by_infoset(profile: Any) -> dict[str, Any]:
    """Return by label the infoset's probability, and the probability and value of every action."""
    return {
        infoset.label: {
            "reach": float(profile.infoset_prob(infoset)),
            "actions": {
                action.label: [float(profile[action]), float(profile.action_value(action))]
                for action in infoset.actions
            },
        }
        for infoset in profile.game.infosets
        if not infoset.is_chance
    }


def quantal() -> dict[str, Any]:
    """Return quantal responses: for each game and rationality the probabilities by infoset."""
    import pygambit

    responses: dict[str, list[dict[str, list[float]]]] = {}
    for name in RESPONSES:
        game = pygambit.read_efg(io.BytesIO(written(compile_game(name).flat(), "efg")))
        found = pygambit.qre.logit_solve_lambda(game, list(RATIONALITY), first_step=FIRST_STEP)
        responses[name] = []
        for point in found:
            numbers = iter(point[at] for at in range(len(point)))
            infosets = [one for player in game.players for one in player.infosets]
            responses[name].append({i.label: [next(numbers) for _ in i.actions] for i in infosets})
    return {"pygambit": version("pygambit"), "rationality": RATIONALITY, "responses": responses}


def answers() -> dict[str, Any]:
    """Return all answers but quantal responses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "pygambit": version("pygambit"),
            "catalog": catalog(),
            "trees": trees(),
            "tables": tables(),
        }


def differences(recorded: Any, found: Any, where: str = "answers") -> Iterator[str]:
    """Return the places where two records differ by more than rounding."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in recorded | found:
            if key in recorded and key in found:
                yield from differences(recorded[key], found[key], f"{where}, {key}")
            else:
                yield f"{where}, {key}: {'not' if key in recorded else 'only'} found today"
    elif isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        for index, pair in enumerate(zip(recorded, found, strict=True)):
            yield from differences(*pair, f"{where}, {index}")
    elif isinstance(recorded, float) and isinstance(found, float):
        if not math.isclose(recorded, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            yield f"{where}: {found!r}, recorded was {recorded!r}"
    elif recorded != found:
        yield f"{where}: {found!r}, recorded was {recorded!r}"


def main() -> int:
    """Run the command line."""
    parser = arguments(__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the file")
    check = parser.parse_args().check
    found = answers()
    if not check:
        write_json(ANSWERS, found)
        write_json(QUANTAL, quantal())
        return 0
    recorded = read_json(ANSWERS)
    # The version is recorded for the reader; a newer one must give the same answers.
    found["pygambit"] = recorded["pygambit"]
    wrong = list(differences(recorded, found))
    print("\n".join(wrong) or f"pygambit {version('pygambit')} gives all recorded answers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
