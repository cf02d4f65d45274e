"""Imports of files have no cycles; imports within functions and for type checks count, too."""

from __future__ import annotations

from graphlib import TopologicalSorter

import pytest

grimp = pytest.importorskip("grimp")

ALLOWED = {
    "tensorcfr": {
        # CompiledGame.flat returns a subclass.
        ("tensorcfr.model.compiled_game", "tensorcfr.model.flat_game"),
        # Solution.save and Solution.load are methods, and files are another idea.
        ("tensorcfr.solvers.solution", "tensorcfr.solvers.solution_file"),
    }
}
"""Imports that close a cycle: the importing file, the imported file."""


@pytest.mark.parametrize("package", ["tensorcfr", "scripts", "benchmarks", "tests"])
def test_imports_of_files_have_no_cycles(package: str) -> None:
    graph = grimp.build_graph(package, cache_dir=None)
    allowed = ALLOWED.get(package, set())
    # An allowed import that is gone must leave the list.
    assert {
        edge for edge in allowed if edge[1] in graph.find_modules_directly_imported_by(edge[0])
    } == allowed
    imports = {
        module: {
            other
            for other in graph.find_modules_directly_imported_by(module)
            if (module, other) not in allowed
        }
        for module in graph.modules
    }
    # CycleError names the files of a cycle.
    TopologicalSorter(imports).prepare()
