"""Tables as frames of pandas, Polars and Arrow."""

from __future__ import annotations

from typing import Any

from .extras import needs

NARWHALS = ("narwhals", "tables")
"""Name of the package that reads frames of all libraries, and its extra."""


class FrameSource:
    """Base class of tables that can be converted, by way of Arrow, to frames of other libraries."""

    def to_arrow(self) -> Any:
        """Return a ``pyarrow.Table``.

        Raises:
            MissingExtraError: pyarrow is not installed; the message names the extra.
        """
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return a ``pandas.DataFrame``; labels are categories.

        Raises:
            MissingExtraError: A package is missing; the message names the extra.
        """
        needs("pandas", "tables")
        return _known(self.to_arrow()).to_pandas()

    def to_polars(self) -> Any:
        """Return a ``polars.DataFrame``.

        Raises:
            MissingExtraError: A package is missing; the message names the extra.
        """
        needs("polars", "polars")
        return _known(self.to_arrow()).to_polars()


def columns_of(frame: Any) -> tuple[list[str], Any]:
    """Return the names of a frame's columns, and a function from a name to its column as a list."""
    known = _known(frame)
    return known.columns, lambda name: known[name].to_list()


def _known(frame: Any) -> Any:
    return needs(*NARWHALS).from_native(frame, eager_only=True)
