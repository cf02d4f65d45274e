"""Build wheel and sdist, look into them, and test the wheel in an empty environment.

python scripts/check_release.py

The tests run against the installed wheel, from a folder that has the tests and no package, and the
numba cache is a fresh one.  Needs the package ``build``; wheel and sdist are left in dist/.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
OLD_FILES = ROOT / "tests" / "data" / "old_files"
"""Files of each release, which later ones must read."""
QUICK = (
    "tests/games/test_games.py",
    "tests/algorithms/test_algorithms.py",
    "tests/evaluation/test_linear_program.py",
    "tests/formats/test_spots.py",
)
"""Tests that together import every layer, and run in seconds once kernels are compiled."""
IN_SDIST = (
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "pyproject.toml",
    "mkdocs.yml",
    "noxfile.py",
    "docs/convergence.png",
    "tests/conftest.py",
    "tests/support/reference.py",
    "tests/data/openspiel_curves.json",
    "benchmarks/compare.py",
    "scripts/figures.py",
    "tensorcfr/py.typed",
)
"""Files that a source distribution must have; the whole package is checked, too."""


def main() -> None:
    """Build, look, install, test."""
    source = (ROOT / "tensorcfr" / "_util" / "version.py").read_text()
    version = re.search(r'__version__ = "(.+)"', source)
    if version is None or not (OLD_FILES / f"{version[1]}.zip").exists():
        sys.exit(
            "write the files of this version: python -m scripts.old_files tests/data/old_files"
        )
    shutil.rmtree(DIST, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--outdir", DIST, ROOT]
    built = subprocess.run(build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if built.returncode:
        sys.exit(f"{built.stdout}\nwheel and sdist cannot be built")
    (wheel,), (sdist,) = list(DIST.glob("*.whl")), list(DIST.glob("*.tar.gz"))
    check_contents(wheel, sdist)
    with tempfile.TemporaryDirectory() as name:
        check_wheel(wheel, Path(name))
    print(f"{wheel.name} and {sdist.name} are good")


def check_contents(wheel: Path, sdist: Path) -> None:
    """Check that the wheel has only the package, and that the sdist can be tested and documented.

    Raises:
        SystemExit: A file is missing, or should not be there.
    """
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tensorcfr").rglob("*")
        if path.suffix in (".py", ".typed")
    }
    in_wheel = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if in_wheel != package:
        sys.exit(f"{wheel.name}: {sorted(in_wheel ^ package)} should or should not be there")
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    wanted = package | set(IN_SDIST) | {page.relative_to(ROOT).as_posix() for page in pages()}
    if missing := sorted(wanted - in_sdist):
        sys.exit(f"{sdist.name} lacks {missing}")


def pages() -> list[Path]:
    """Return the pages of the documentation."""
    return [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]


def check_wheel(wheel: Path, work: Path) -> None:
    """Install the wheel where nothing else is, and run tests against it."""
    venv.create(work / "env", with_pip=True)
    programs = work / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    shutil.copytree(ROOT / "tests", work / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", work)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["NUMBA_CACHE_DIR"] = str(work / "cache")
    # First with only the requirements of the package itself.
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=work, env=environment)
    run(python, "-c", "import tensorcfr as t; print(t.__file__)", cwd=work, env=environment)
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[standard]", cwd=work, env=environment)
    run(programs / "tensorcfr", "solve", "kuhn", "--iters", "100", cwd=work, env=environment)
    tools = ("pytest", "hypothesis", "pytest-benchmark", "pytest-xdist")
    run(python, "-m", "pip", "install", "--quiet", *tools, cwd=work, env=environment)
    found = subprocess.check_output(
        [python, "-c", "import tensorcfr; print(tensorcfr.__file__)"],
        cwd=work,
        env=environment,
        text=True,
    )
    if not Path(found.strip()).is_relative_to(work / "env"):
        sys.exit(f"the tests would import {found.strip()}, not the installed wheel")
    run(python, "-m", "pytest", "--quiet", "-m", "fast", *QUICK, cwd=work, env=environment)


def run(*words: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run a program; its failure is ours."""
    subprocess.run([str(word) for word in words], cwd=cwd, env=env, check=True)


if __name__ == "__main__":
    main()
