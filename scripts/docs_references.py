"""Docstrings as Markdown, for the API reference of the documentation site.

The docstrings name other objects by roles, ``:func:`name```, as Python's own documentation does.
A role becomes a link if the API reference documents the object, and code otherwise.  A doctest
becomes a block of code.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

ROLE = re.compile(r":(?:py:)?(?:func|class|mod|meth|data|attr|exc):`(?P<short>~?)(?P<name>[^`]+)`")
REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
DOCTEST = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent)\S.*|\n(?P=indent) .*)*", re.MULTILINE)
SHOWN = re.compile(r"^::: (\S+)$", re.MULTILINE)


class References(griffe.Extension):
    """Rewrites the docstrings of a package."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Rewrite them when the whole package is loaded."""
        pages = "\n".join(page.read_text("utf-8") for page in REFERENCE.glob("*.md"))
        self._shown = {pkg.modules_collection[path].canonical_path for path in SHOWN.findall(pages)}
        self._visit(pkg, pkg)

    def _visit(self, module: griffe.Module, member: griffe.Object) -> None:
        if member.docstring is not None:
            text = DOCTEST.sub(_block, member.docstring.value)
            member.docstring.value = ROLE.sub(lambda role: self._reference(member, role), text)
        for inner in list(member.members.values()):
            if not inner.is_alias:
                self._visit(module, inner)  # type: ignore[arg-type]

    def _reference(self, scope: griffe.Object, role: re.Match[str]) -> str:
        name = role["name"]
        target = self._find(scope, name)
        text = name.rpartition(".")[2] if role["short"] else name
        if target is None:
            return f"`{text}`"
        return f"[`{text.removeprefix('tensorcfr.')}`][{target}]"

    def _find(self, scope: griffe.Object, name: str) -> str | None:
        """Return the path of an object in the API reference; None if the reference does not have
        it."""
        head, _, rest = name.partition(".")
        try:
            path = name if head == "tensorcfr" else scope.resolve(head) + (rest and f".{rest}")
            found = scope.modules_collection[path].canonical_path
        except (KeyError, griffe.GriffeError):
            return None
        parents = (found, found.rpartition(".")[0])
        return found if any(parent in self._shown for parent in parents) else None


def _block(doctest: re.Match[str]) -> str:
    """Return a doctest between fences."""
    indent = doctest["indent"]
    text = re.sub(r" *# doctest: .*", "", doctest[0])
    return f"{indent}```pycon\n{text}\n{indent}```"
