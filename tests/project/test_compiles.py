"""Messages while kernels are compiled."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from numba.core import event

from tensorcfr._util import compiles

KIND = "example:compile"
"""Not the kind of numba's events, of which the package's own listener hears."""


def dispatcher(module: str | None, name: str, cache_path: str | None) -> Any:
    function = SimpleNamespace(__module__=module, __name__=name)
    return SimpleNamespace(py_func=function, _cache=SimpleNamespace(cache_path=cache_path))


def test_messages_after_a_second_of_compiling_and_then_every_five(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Pieces count, kernels of other packages do not; seconds between kernels do not, either."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    kept = dispatcher("tensorcfr.kernels.iterations", "iterate", "/cache")
    lost = dispatcher("tensorcfr.kernels.evaluation", "best_total", None)
    other = dispatcher("mine", "mine", "/cache")
    data = {"dispatcher": kept}
    with event.install_listener(KIND, compiles._Announcer()):
        for program in (other, dispatcher(None, "mine", None)):
            with event.trigger_event(KIND, data={"dispatcher": program}):
                now += 60
        assert not caplog.messages
        with event.trigger_event(KIND, data=data):
            now += 2
            with event.trigger_event(KIND, data=data):
                now += 1
            with event.trigger_event(KIND, data=data):
                pass
        now += 60
        with event.trigger_event(KIND, data={"dispatcher": lost}):
            now += 4
            with event.trigger_event(KIND, data=data):
                pass
    assert caplog.messages == [
        "tensorcfr: compiling kernels, once on this machine: 2 so far, in 2 s, now iterate",
        "tensorcfr: compiling kernels: 5 so far, in 7 s, now best_total",
    ]
