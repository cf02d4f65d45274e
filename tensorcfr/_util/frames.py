"""Tables as frames of pandas, Polars and Arrow."""

from __future__ import annotations

from typing import Any

from .extras import needs

NARWHALS = ("narwhals", "tables")
"""The package that knows all frames, and its extra."""


class Frames:
    """What becomes a frame of other libraries, by way of Arrow."""

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``.

        Raises:
            MissingExtraError: pyarrow is not installed; says what installs it.
        """
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``; labels are categories.

        Raises:
            MissingExtraError: A package is missing; says what installs it.
        """
        needs("pandas", "tables")
        return _known(self.to_arrow()).to_pandas()

    def to_polars(self) -> Any:
        """A ``polars.DataFrame``.

        Raises:
            MissingExtraError: A package is missing; says what installs it.
        """
        needs("polars", "polars")
        return _known(self.to_arrow()).to_polars()


def columns_of(frame: Any) -> tuple[list[str], Any]:
    """The names of the columns of any frame, and what makes a list of a column's values."""
    known = _known(frame)
    return known.columns, lambda name: known[name].to_list()


def _known(frame: Any) -> Any:
    return needs(*NARWHALS).from_native(frame, eager_only=True)
