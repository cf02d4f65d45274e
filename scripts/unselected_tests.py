"""List the tests that no job runs.

    python -m scripts.unselected_tests                       # by the markers that the jobs select
    python -m scripts.unselected_tests --reports FOLDER      # by the tests in the jobs' reports

A job selects tests by a marker expression: each ``pytest ... -m EXPRESSION`` in ``.ci/run``, in
README's test command and in the workflows is read.  A test that needs something more (a browser,
pygambit, JAX) is skipped elsewhere, which markers do not show.  So the nightly workflow collects
the reports of its jobs (JUnit XML) and calls this script with ``--reports``: it lists the tests
that were skipped in all of them, too.

It also lists the wrong programs of ``scripts/wrong_programs.py`` that name no test of the fast
tier, or, for the checker in Rust, of the full tier: no job would catch them.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from _pytest.mark.expression import Expression

from .wrong_programs import WrongProgram, read_programs

ROOT = Path(__file__).resolve().parent.parent
JOBS = (".ci/run", ".github/workflows/ci.yml", ".github/workflows/nightly.yml")
TEST_COMMAND = re.compile(r"<!-- test command -->\n```bash\n(.*?)```", re.DOTALL)
SELECTION = re.compile(r"pytest\b[^\n#]*? -m (?:\"([^\"]+)\"|'([^']+)'|(\w+))")


class _Collector:
    """A plugin of pytest that keeps the collected tests."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = list(items)


def collected() -> list[pytest.Item]:
    """Return all tests of the project."""
    collector = _Collector()
    options = ["--collect-only", "-qq", "-p", "no:cacheprovider"]
    with redirect_stdout(StringIO()):
        status = pytest.main([*options, str(ROOT / "tests")], [collector])
    if status != pytest.ExitCode.OK or not collector.items:
        raise SystemExit(f"the tests cannot be collected: pytest ended with {int(status)}")
    return collector.items


def selections(texts: Iterable[str]) -> set[str]:
    """Return the marker expressions by which jobs select tests."""
    return {"".join(found) for text in texts for found in SELECTION.findall(text)}


def unselected(items: Iterable[pytest.Item], expressions: Iterable[str]) -> list[str]:
    """Return ids of the tests that no expression selects."""
    compiled = [Expression.compile(expression) for expression in expressions]
    found = []
    for item in items:
        markers = markers_of(item)
        if not any(one.evaluate(lambda name, **_: name in markers) for one in compiled):  # noqa: B023
            found.append(item.nodeid)
    return found


def markers_of(item: pytest.Item) -> set[str]:
    """Return names of the markers of a test."""
    return {marker.name for marker in item.iter_markers()}


def uncaught(items: Iterable[pytest.Item], programs: Iterable[WrongProgram]) -> list[str]:
    """Return wrong programs that name no test, or a test that is not run as they say."""
    selected: dict[str, set[str]] = {}
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        for place in {name, name.partition("[")[0], name.partition("::")[0]}:
            selected.setdefault(place, set()).update(markers_of(item))
    found = []
    for program in programs:
        needed = {"fast", "as_python"} if program.as_python else {program.tier}
        if not needed <= selected.get(program.caught_by, set()):
            tiers = " and ".join(sorted(needed))
            found.append(f"{program.name!r} names no test that is {tiers}: {program.caught_by}")
    return found


def never_run(items: Iterable[pytest.Item], reports: Iterable[Path]) -> list[str]:
    """Return ids of the tests that are in no report, or skipped in each."""
    run = set()
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            if case.find("skipped") is None:
                run.add((case.get("classname"), case.get("name")))
    return [item.nodeid for item in items if _name_in_reports(item) not in run]


def _name_in_reports(item: pytest.Item) -> tuple[str, str]:
    path, *names = item.nodeid.split("::")
    module = path.removesuffix(".py").replace("/", ".")
    return ".".join([module, *names[:-1]]), names[-1]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=Path, help="a folder of JUnit files")
    arguments = parser.parse_args()
    items = collected()
    if arguments.reports:
        missed = never_run(items, arguments.reports.rglob("*.xml"))
    else:
        texts = [(ROOT / name).read_text("utf-8") for name in JOBS]
        texts += TEST_COMMAND.findall((ROOT / "README.md").read_text("utf-8"))
        expressions = selections(texts)
        missed = unselected(items, expressions)
    wrong = uncaught(items, read_programs())
    print(*missed, f"{len(missed)} of {len(items)} tests are run by no job", sep="\n")
    print(*wrong, f"{len(wrong)} wrong programs name no test of their tier", sep="\n")
    return 1 if missed or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
