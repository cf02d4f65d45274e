"""Old names of the public interface work for one version, with a warning that has the new name."""

from __future__ import annotations

import inspect
import pkgutil
import sys
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

import tensorcfr
from tensorcfr._util.renamed import (
    RENAMED,
    Renamed,
    renamed_attributes,
    renamed_in_module,
    renamed_parameters,
)


def table() -> list[Renamed]:
    """Old names of the package; modules whose extra is not installed have none to be tested."""
    for module in pkgutil.walk_packages(
        tensorcfr.__path__, "tensorcfr.", onerror=lambda name: None
    ):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ImportError:
                continue
    return [
        entry
        for entry in RENAMED
        if getattr(entry.owner, "__module__", entry.owner).startswith("tensorcfr")
    ]


def test_all_old_names_of_the_package_lead_to_new_ones() -> None:
    for kind, owner, old, new in table():
        if kind == "attribute":
            value = object()
            with pytest.warns(DeprecationWarning, match=rf"\.{old} is now called {new};"):
                assert owner.__dict__[old].__get__(SimpleNamespace(**{new: value}), owner) is value
            annotated = {name for base in owner.__mro__ for name in inspect.get_annotations(base)}
            assert hasattr(owner, new) or new in annotated, f"{owner}: no {new}"
            assert old not in annotated, f"{owner}: {old} is still a field"
        elif kind == "parameter":
            known = inspect.signature(owner).parameters
            assert new in known, f"{owner}: no {new}"
            assert old not in known, f"{owner}: {old} is still a parameter"
        else:
            with pytest.warns(DeprecationWarning, match=rf"\.{old} is now called {new};"):
                found = getattr(sys.modules[owner], old)
            assert found is getattr(sys.modules[owner], new)


@renamed_attributes(usual="defaults", swept="merged")
class Base:
    defaults = 1

    def merged(self) -> int:
        return 2


def test_an_old_attribute_is_read_set_and_called() -> None:
    base: Any = Base()
    with pytest.warns(DeprecationWarning, match=r"Base\.usual is now called defaults"):
        assert base.usual == 1
    with pytest.warns(DeprecationWarning, match=r"Base\.swept is now called merged"):
        assert base.swept() == 2
    with pytest.warns(DeprecationWarning, match=r"Base\.usual is now called defaults"):
        base.usual = 3
    assert base.defaults == 3
    with pytest.warns(DeprecationWarning, match="is now called") as caught:
        assert getattr(Base, "usual") == 1  # noqa: B009
    assert caught[0].filename == __file__


def test_a_subclass_may_define_the_old_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"Derived\.usual is now called defaults"):

        class Derived(Base):
            usual = 5

    assert Derived.defaults == 5


@renamed_attributes(stands_for="multiplicity")
class Row(NamedTuple):
    label: str
    multiplicity: int = 1


@renamed_attributes(limit="convergence_note")
@dataclass(frozen=True)
class Record:
    name: str
    convergence_note: str = ""


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [(Row, "stands_for", "multiplicity"), (Record, "limit", "convergence_note")],
)
def test_a_constructor_takes_the_old_name_of_a_field(kind: Any, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old}= of {kind.__name__} is now called {new}="):
        row = kind("a", **{old: 4})
    assert row == kind("a", 4)
    with pytest.warns(DeprecationWarning, match=f"{old} is now called {new}"):
        assert getattr(row, old) == 4
    with pytest.raises(TypeError, match=f"takes '{new}' once; '{old}' is its old name"):
        kind("a", **{old: 4, new: 4})


@renamed_parameters(merged="form")
def solve(game: str, *, form: bool = False) -> tuple[str, bool]:
    return game, form


def test_an_old_parameter_is_taken() -> None:
    call: Any = solve
    with pytest.warns(DeprecationWarning, match=r"merged= of solve\(\) is now called form=;"):
        assert call("leduc", merged=True) == ("leduc", True)
    assert solve("leduc", form=True) == ("leduc", True)
    with pytest.raises(TypeError):
        call("leduc", unknown=True)


def test_an_old_member_of_a_module_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("of_a_test")
    module.new_name = object()
    module.__getattr__ = renamed_in_module("of_a_test", old_name="new_name")
    monkeypatch.setitem(sys.modules, "of_a_test", module)
    with pytest.warns(DeprecationWarning, match=r"of_a_test\.old_name is now called new_name;"):
        assert module.old_name is module.new_name
    with pytest.raises(AttributeError, match="module 'of_a_test' has no attribute 'third_name'"):
        module.third_name  # noqa: B018
