"""How much memory this process takes at most."""

from __future__ import annotations

from pathlib import Path

from tensorcfr._util import memory_budget


class Peak:
    """The most memory that this process has from now on; Linux alone says it."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.shared: int | None = self._resident("VmHWM") - memory_budget.taken()
        except OSError:
            self.shared = None

    def read(self) -> int | None:
        return None if self.shared is None else self._resident("VmHWM") - self.shared

    @staticmethod
    def _resident(key: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))
