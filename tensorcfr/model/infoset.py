"""The infoset that is passed to policies written as functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._util.argument_checks import brief
from ..errors import suggest

EXACT_TOLERANCE = 1e-9
"""Largest difference from 1 of the sum of probabilities, for Python numbers and float64."""
SINGLE_TOLERANCE = 1e-5
"""Largest difference from 1 of the sum of probabilities in single precision or less, which are then
normalised."""


class Infoset(str):
    """Label of an infoset, with its player and its actions.

    It is a text, so a table of strategies may be indexed with it.
    """

    __slots__ = ("actions", "player")
    player: int
    """Acting player."""
    actions: tuple[str, ...]
    """Labels of the actions, in order."""

    def __new__(cls, label: str, player: int, actions: tuple[str, ...]) -> Infoset:
        """Create an infoset that is equal to its label."""
        infoset = super().__new__(cls, label)
        infoset.player, infoset.actions = player, actions
        return infoset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.player, self.actions)


Strategies = Callable[[Infoset], Mapping[str, float] | Sequence[float] | np.ndarray]
"""Policy as a function: from an infoset to a probability for each action, by label or in order."""


def call_policy(infoset: Infoset, strategies: Strategies, name: str = "policy") -> Any:
    """Call a policy that is a function.

    Raises:
        ValueError: The function raised an error; names the infoset.
    """
    try:
        return strategies(infoset)
    except Exception as error:
        raise ValueError(f"the {name} failed at infoset {str(infoset)!r}: {error}") from error


def refuse_unknown(label: str, action_names: Iterable[Any], actions: tuple[str, ...]) -> None:
    """Refuse actions that an infoset does not have.

    Raises:
        ValueError: There is such an action; names it and the infoset.
    """
    for action in action_names:
        if action not in actions:
            raise ValueError(
                f"infoset {label!r} has no action {action!r}; {suggest(str(action), actions)}"
            )


def distribution(infoset: Infoset, probabilities: Any) -> np.ndarray:
    """Check the probabilities that a policy gives for an infoset, and return them.

    Args:
        infoset: The infoset.
        probabilities: A mapping of action labels to probabilities, 0 for labels left out; or one
            number per action, in any form that NumPy, JAX or PyTorch has.

    Returns:
        float64 (actions,), with sum 1.

    Raises:
        ValueError: The numbers are not a distribution over the actions; names the infoset.
    """
    actions = infoset.actions
    if isinstance(probabilities, Mapping):
        refuse_unknown(str(infoset), probabilities, actions)
        probabilities = [probabilities.get(action, 0.0) for action in actions]
    numbers, tolerance = plain_array(
        probabilities, f"the probabilities of infoset {str(infoset)!r}"
    )
    if numbers.shape != (len(actions),):
        raise ValueError(
            f"infoset {str(infoset)!r} has {len(actions)} actions, {', '.join(actions)}, but its "
            f"probabilities have the shape {numbers.shape}"
        )
    return normalised(numbers, tolerance, infoset)


def plain_array(values: Any, what: str) -> tuple[np.ndarray, float]:
    """Convert numbers of NumPy, JAX or PyTorch to float64.

    Args:
        values: The numbers.
        what: Their name, for the error.

    Returns:
        float64 (...,): the numbers; and the tolerance of their sum.

    Raises:
        ValueError: They are not real numbers; names them.
    """
    for method in ("detach", "cpu"):  # PyTorch: off the graph, off the device.
        if hasattr(values, method):
            values = getattr(values, method)()
    try:
        array = np.asarray(values)
        # bfloat16 and arrays of objects have a dtype of another kind, but may hold numbers.
        if array.dtype.kind not in "fiu" and str(array.dtype) not in ("bfloat16", "object"):
            raise TypeError
        single = array.dtype.kind != "i" and array.dtype.itemsize < 8
        return array.astype(np.float64), SINGLE_TOLERANCE if single else EXACT_TOLERANCE
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, not {brief(values)}") from None


def normalised(numbers: np.ndarray, tolerance: float, infoset: Infoset) -> np.ndarray:
    """Check that probabilities sum to 1 up to a tolerance; normalise them if they are rounded.

    Raises:
        ValueError: They are not a distribution; names the infoset.
    """
    total = float(numbers.sum())
    # NaN fails every comparison, so test for the valid case.
    if not ((numbers >= 0.0).all() and abs(total - 1.0) <= tolerance):
        raise ValueError(
            f"the probabilities of infoset {str(infoset)!r} are not a distribution: "
            f"{dict(zip(infoset.actions, numbers.tolist(), strict=True))}"
        )
    return numbers if tolerance == EXACT_TOLERANCE else numbers / total
