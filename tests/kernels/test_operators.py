"""The compiler looks up the signature of an operator once per argument types."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tensorcfr._util import jit, jit_operators


@pytest.mark.compiled
def test_operators_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kernels index, add and compare numbers of the same types."""
    found: Counter[tuple[Any, ...]] = Counter()
    find = jit_operators._find

    def counted(operator: Any, context: Any, args: Any, options: Any) -> Any:
        if getattr(operator.typing_key, "__module__", None) == "_operator":
            found[operator, args] += 1
        return find(operator, context, args, options)

    monkeypatch.setattr(jit_operators, "_find", counted)
    monkeypatch.setattr(jit_operators, "_signatures", {})
    before = jit_operators.BaseFunction.get_call_type

    @jit.kernel
    def first(x: np.ndarray) -> float:
        total = 0.0
        for k in range(len(x)):
            if x[k] + x[k] > 1.0:
                total += x[k] + x[0]
        return total

    @jit.kernel
    def second(x: np.ndarray) -> float:
        return x[0] + x[1] if x[2] > x[3] else x[1]

    x = np.array([0.25, 0.75, 2.0, 1.0])
    assert (first(x), second(x)) == (0.25 * 3 + 0.75 + 2.0 + 1.0, 1.0)
    assert found
    assert max(found.values()) == 1
    assert jit_operators.BaseFunction.get_call_type is before
