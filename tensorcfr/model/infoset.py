"""An infoset as policies see it that are functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._util.arguments import brief
from ..errors import suggest

EXACT_TOLERANCE = 1e-9
"""How far probabilities given as Python numbers or float64 may be from summing to 1."""
SINGLE_TOLERANCE = 1e-5
"""How far probabilities of single precision, or less, may be from that; they are normalised."""


class Infoset(str):
    """The label of an infoset, which also knows who acts there, and how.

    It is a text, so a table of strategies may be indexed with it.
    """

    __slots__ = ("actions", "player")
    player: int
    """Who acts."""
    actions: tuple[str, ...]
    """The labels of the actions, in order."""

    def __new__(cls, label: str, player: int, actions: tuple[str, ...]) -> Infoset:
        """An infoset that is equal to its label."""
        infoset = super().__new__(cls, label)
        infoset.player, infoset.actions = player, actions
        return infoset

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.player, self.actions)


Strategies = Callable[[Infoset], Mapping[str, float] | Sequence[float] | np.ndarray]
"""A policy as a function: from an infoset to a probability for each action, by label or in
order."""


def asked(infoset: Infoset, strategies: Strategies, name: str = "policy") -> Any:
    """What a policy that is a function answers.

    Raises:
        ValueError: It raised an error itself; names the infoset.
    """
    try:
        return strategies(infoset)
    except Exception as error:
        raise ValueError(f"the {name} failed at infoset {str(infoset)!r}: {error}") from error


def refuse_unknown(label: str, given: Iterable[Any], actions: tuple[str, ...]) -> None:
    """Refuse what is given for an action that an infoset does not have.

    Raises:
        ValueError: There is such an action; names it and the infoset.
    """
    for action in given:
        if action not in actions:
            raise ValueError(
                f"infoset {label!r} has no action {action!r}; {suggest(str(action), actions)}"
            )


def distribution(infoset: Infoset, given: Any) -> np.ndarray:
    """The probabilities that a policy gives for an infoset, checked.

    Args:
        infoset: The infoset.
        given: A mapping of action labels to probabilities, where those left out are 0; or as many
            numbers as there are actions, in any form that NumPy, JAX or PyTorch has.

    Returns:
        float64 (actions,), with sum 1.

    Raises:
        ValueError: They are no distribution over the actions; names the infoset.
    """
    actions = infoset.actions
    if isinstance(given, Mapping):
        refuse_unknown(str(infoset), given, actions)
        given = [given.get(action, 0.0) for action in actions]
    numbers, tolerance = plain_array(given, f"the probabilities of infoset {str(infoset)!r}")
    if numbers.shape != (len(actions),):
        raise ValueError(
            f"infoset {str(infoset)!r} has {len(actions)} actions, {', '.join(actions)}, but its "
            f"probabilities have the shape {numbers.shape}"
        )
    return normalised(numbers, tolerance, infoset)


def plain_array(given: Any, what: str) -> tuple[np.ndarray, float]:
    """Numbers of NumPy, JAX or PyTorch as float64, and how far a sum of them may be off.

    Raises:
        ValueError: They are no real numbers; says what they should have been.
    """
    for method in ("detach", "cpu"):  # PyTorch: off the graph, off the device.
        if hasattr(given, method):
            given = getattr(given, method)()
    try:
        found = np.asarray(given)
        if found.dtype.kind not in "fiu" and str(found.dtype) not in ("bfloat16", "object"):
            raise TypeError
        single = found.dtype.kind != "i" and found.dtype.itemsize < 8
        return found.astype(np.float64), SINGLE_TOLERANCE if single else EXACT_TOLERANCE
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, not {brief(given)}") from None


def normalised(numbers: np.ndarray, tolerance: float, infoset: Infoset) -> np.ndarray:
    """Probabilities whose sum is 1 up to a tolerance, divided by it where they are rounded.

    Raises:
        ValueError: They are none; names the infoset.
    """
    total = float(numbers.sum())
    # Written so that NaN fails.
    if not ((numbers >= 0.0).all() and abs(total - 1.0) <= tolerance):
        raise ValueError(
            f"the probabilities of infoset {str(infoset)!r} are no distribution: "
            f"{dict(zip(infoset.actions, numbers.tolist(), strict=True))}"
        )
    return numbers if tolerance == EXACT_TOLERANCE else numbers / total
