"""Reason why plain ``pytest benchmarks`` skips everything."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the command that runs the benchmarks, if this run skipped them."""
    option = terminalreporter.config.getoption
    if option("benchmark_skip") and not option("benchmark_only"):
        terminalreporter.write_line(
            "benchmarks are skipped by default: run pytest benchmarks --benchmark-only"
        )
