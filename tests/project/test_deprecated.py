"""Old names work for one version, and say what replaces them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import tensorcfr
from tensorcfr import CompiledGame, compile_game
from tensorcfr._deprecated import MOVED, MOVED_NAMES


@pytest.mark.parametrize("old", MOVED)
def test_old_modules_have_the_new_names(old: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is now {MOVED[old]}"):
        found = importlib.import_module(old)
    new = importlib.import_module(MOVED[old])
    public = [name for name in vars(new) if not name.startswith("_")]
    assert public
    assert all(getattr(found, name) is getattr(new, name) for name in public)


@pytest.mark.parametrize("name", MOVED_NAMES)
def test_old_names_of_the_root(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"is now {MOVED_NAMES[name]}.{name}"):
        found = getattr(tensorcfr, name)
    assert found is getattr(importlib.import_module(MOVED_NAMES[name]), name)


def test_a_name_that_never_was() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'leduc'"):
        _ = tensorcfr.leduc


def test_the_methods_of_a_game_save_and_load(tmp_path: Path) -> None:
    kuhn = compile_game("kuhn")
    with pytest.warns(DeprecationWarning, match="save_game"):
        path = kuhn.save(tmp_path / "kuhn")  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="load_game"):
        again = CompiledGame.load(path)  # type: ignore[attr-defined]
    assert again.digest == kuhn.digest
