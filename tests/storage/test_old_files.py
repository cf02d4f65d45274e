"""Files that earlier releases wrote are read: they hold the numbers that the release recorded, and
a solve goes on from them.

``tests/data/old_files/VERSION.zip`` is written by ``python -m scripts.old_files`` of each release;
that of 0.14.0 by a script of the same kind, which recorded no later iterations.
"""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.interpreted import interpret
from support.tiers import tiered
from tensorcfr import Solution, compile_game, evaluate, load_game, solve
from tensorcfr.algorithms import from_dict
from tensorcfr.errors import OldFileError
from tensorcfr.formats import read_policy
from tensorcfr.storage.archive import digest_of, pack_header

FOLDER = Path(__file__).parent.parent / "data" / "old_files"
RELEASES = sorted(path.stem for path in FOLDER.glob("*.zip"))
CHANGED = {"0.15.0": {"paced-cfr+"}}
"""Algorithms by release whose rule has changed since: a solve goes on by the new rule."""
REMOVED = ("cfr-avg", "pcfr+gradient")
"""Algorithms that are gone: their solutions can be looked at, and not continued."""


@cache
def recorded(release: str) -> dict[str, dict[str, Any]]:
    """The numbers of a release."""
    found: dict[str, dict[str, Any]] = json.loads(content(release, "recorded.json"))
    return found


def content(release: str, name: str) -> bytes:
    with zipfile.ZipFile(FOLDER / f"{release}.zip") as archive:
        return archive.read(name)


def cases(kind: str, *fast: str) -> list[Any]:
    """All files of a kind; those of the fast tier end in one of some names."""
    found = [(release, name) for release in RELEASES for name in recorded(release)[kind]]
    return tiered(found, [case for case in found if case[1].endswith(fast)])


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run as Python."""
    interpret(monkeypatch)


def close(solution: Solution, numbers: dict[str, Any], precision: str) -> None:
    """Compare a solution with its numbers, exactly but for rounding."""
    assert solution.iterations == numbers["iterations"]
    assert solution.is_evaluated == (numbers["value"] is not None)
    if solution.is_evaluated:
        size = max(1.0, float(np.abs(solution.value).max()))
        atol = size * {"float64": 1e-9, "float32": 1e-5, "int16": 1e-3}[precision]
        np.testing.assert_allclose(solution.value, numbers["value"], rtol=0.0, atol=atol)
        assert solution.exploitability == pytest.approx(numbers["exploitability"], abs=atol)


@pytest.mark.parametrize(
    ("release", "name"),
    cases("solutions", "mmd-agent.npz", "default.npz", "omaha.npz", "merged.npz"),
)
def test_a_solution(release: str, name: str) -> None:
    numbers, file = recorded(release)["solutions"][name], content(release, name)
    if numbers["algorithm"].partition("(")[0] in REMOVED:
        with pytest.raises(ValueError, match="there is no algorithm"):
            Solution.load(io.BytesIO(file))
        close(Solution.load(io.BytesIO(file), registered=False), numbers, "float64")
        return
    solution = Solution.load(io.BytesIO(file))
    floats = str(getattr(getattr(solution.state, "regret", None), "dtype", "float64"))
    close(solution, numbers, "float64")
    if solution.algorithm.name != "mmd-agent":  # Its options changed; see the next test.
        assert str(solution.algorithm) == numbers["algorithm"]
    if solution.algorithm.is_exact:
        return
    later = solve(solution.game, start=solution, iters=2)
    assert later.iterations == solution.iterations + 2
    if "later" in numbers and solution.algorithm.name not in CHANGED.get(release, ()):
        close(later, numbers["later"], floats)
    if later.is_evaluated:
        assert np.isfinite(later.exploitability)


def test_options_of_mmd_agent_until_0_14(tmp_path: Path) -> None:
    """A solve goes on with the floor and temperature that it would have reached."""
    file = content("0.14.0", "solution kuhn_mmd-agent.npz")
    read = Solution.load(io.BytesIO(file)).algorithm
    assert str(read) == "mmd-agent(eta=2, alpha=0, heat=0.001, floor=0.0001, average_power=20)"
    arrays = dict(np.load(io.BytesIO(file)))
    header = json.loads(arrays["header"].tobytes())
    del header["algorithm"]["settled"], arrays["digest"]
    arrays["header"] = pack_header(header)
    np.savez(path := tmp_path / "s.npz", **arrays, digest=digest_of(arrays))
    with pytest.raises(OldFileError, match=r"s\.npz: mmd-agent was written by tensorcfr 0\.10\.0"):
        Solution.load(path)
    old = {"name": "mmd-agent", "eta": 2.0, "alpha": 0.0, "floor": 0.1, "average_power": 20.0}
    converted = from_dict(old | {"floor_fall": 1.0, "settled": 1e15, "heat": 0.0})
    assert str(converted) == "mmd-agent(eta=2, alpha=0, heat=0, floor=0.0001, average_power=20)"
    for wrong, words in (
        ({"floor_fall": 1.0}, r"by tensorcfr 0\.10\.0, .* load it with tensorcfr 0\.14\.0"),
        ({"floor_fall": 1.0, "settled": "9", "heat": 1.0}, "settled must be a number"),
        ({"floor_fall": 1.0, "settled": 0.0, "heat": 1.0}, "heat must be a number"),
        ({"floor_fall": 1e308, "settled": 1e-308, "heat": 0.0}, "floor must be a probability"),
    ):
        with pytest.raises(ValueError, match=words):
            from_dict(old | wrong)


@pytest.mark.parametrize(("release", "name"), cases("games", "kuhn.npz", "cut.npz", "chunks.npz"))
def test_a_game(release: str, name: str) -> None:
    numbers = recorded(release)["games"][name]
    game = load_game(io.BytesIO(content(release, name)))
    assert (game.name, game.n_histories) == (numbers["name"], numbers["histories"])
    assert solve(game, "cfr", iters=1).iterations == 1


@pytest.mark.parametrize(("release", "name"), cases("policies", ".csv", ".json"))
def test_a_policy(release: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content(release, name))
    game = compile_game("kuhn")
    found = evaluate(game, read_policy(game, path))
    if numbers := recorded(release)["policies"][name]:
        assert found.exploitability == pytest.approx(numbers["exploitability"], abs=1e-9)
