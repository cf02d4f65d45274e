"""Optional packages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ..errors import MissingExtraError


def needs(module: str, extra: str, package: str | None = None) -> Any:
    """Import a module of an optional package and return it.

    Args:
        module: Name of the module, ``"matplotlib.figure"``.
        extra: Name of the extra that installs the package: ``"plot"`` for ``tensorcfr[plot]``.
        package: Name of the package in errors; by default the first part of ``module``.

    Raises:
        MissingExtraError: The package is not installed; the message names the extra.
    """
    whole = module.partition(".")[0]
    try:
        import_module(whole)
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(package or whole, extra) from error


def library_of(value: object, known: Iterable[str]) -> str | None:
    """Return the package among ``known`` that defines an object's class or one of its bases, or
    None."""
    modules = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    return next((library for library in known if library in modules), None)
