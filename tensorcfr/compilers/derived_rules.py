"""Base classes of rules that are made from other rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

from ..rules import BaseRules, PublicTreeGame

C = TypeVar("C", bound=type)


def forwards(*names: str, to: str = "rules") -> Callable[[C], C]:
    """Return a decorator of a class that takes some attributes from another object.

    Args:
        names: The attributes.
        to: The attribute that is the other object.
    """

    def decorate(cls: C) -> C:
        for name in names:
            if name not in vars(cls):
                # An attribute of the instance has priority over it.
                forwarded = cached_property(attrgetter(f"{to}.{name}"))
                forwarded.__set_name__(cls, name)
                setattr(cls, name, forwarded)
        return cls

    return decorate


@forwards("n_players", "name", "root", "node", "next")
class Derived(BaseRules):
    """Rules made from other rules; a class that derives from this one states only the differences.

    Args:
        rules: The other rules.
    """

    def __init__(self, rules: Any) -> None:
        self.rules = rules


@forwards("states_repeat", "hands", "prior", "matrix", "label")
class DerivedPublicTree(Derived, PublicTreeGame):
    """Game of private hands on a public tree, made from another such game."""


def joins_labels(rules: PublicTreeGame) -> bool:
    """Return whether the label of an infoset is the hand and the public label, joined."""
    return getattr(rules.label, "__func__", None) is PublicTreeGame.label
