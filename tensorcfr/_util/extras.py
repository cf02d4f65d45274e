"""Optional packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ..errors import MissingExtraError


def needs(module: str, extra: str, package: str | None = None) -> Any:
    """A module of an optional package.

    Args:
        module: The module, ``"matplotlib.figure"``.
        extra: What installs it: ``"plot"`` for ``tensorcfr[plot]``.
        package: What errors call the package, where that is not the first part of the module.

    Raises:
        MissingExtraError: It is not installed; says what installs it.
    """
    whole = module.partition(".")[0]
    try:
        import_module(whole)
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(package or whole, extra) from error


def library_of(value: object, known: Iterable[str]) -> str | None:
    """Which of some packages an object is of, itself or by a base of its class; None of none."""
    modules = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    return next((library for library in known if library in modules), None)
