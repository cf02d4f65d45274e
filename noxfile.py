"""The commands of a contributor: ``nox -l`` lists them; ``nox -R`` uses environments again."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True
nox.needs_version = ">=2024.10"


@nox.session
def lint(session: nox.Session) -> None:
    """Linters, types, and the order of imports."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """The tests, without the long ones; arguments after ``--`` go to pytest."""
    session.install("-e", ".[test]")
    default = ["-n", "auto", "--dist", "loadfile", "-m", "not slow"]
    session.run("pytest", *(session.posargs or default))


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation site in build/site, and run the examples of its pages."""
    session.install("-e", ".[docs,lp]")
    session.run("pytest", "--quiet", "--doctest-glob=*.md", "README.md", "docs")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def notebooks(session: nox.Session) -> None:
    """Run the notebooks; with ``-- --overwrite`` also write their outputs."""
    session.install("-e", ".[docs]")
    session.run("pytest", "--nbmake", "docs/notebooks", *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Build wheel and sdist, and test the wheel in an empty environment."""
    session.install("build>=1.2")
    session.run("python", "scripts/check_release.py")
