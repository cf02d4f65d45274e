"""Optional packages."""

from __future__ import annotations

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
