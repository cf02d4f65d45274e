"""Pages of the docs whose tables are written by scripts."""

from __future__ import annotations

from collections.abc import Mapping


def page_with(page: str, script: str, parts: Mapping[str, str]) -> str:
    """A page with its generated parts replaced; what stands between them is left as it is.

    Args:
        page: The page.
        script: Whose parts they are: ``variants`` for ``scripts/variants.py``.
        parts: Text by name.  In the page, a part stands between two comments that name it.

    Raises:
        ValueError: The page has lost the comments around a part; names it.
    """
    for name, text in parts.items():
        begin = f"<!-- {name}: written by scripts/{script}.py -->"
        end = f"<!-- end of {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page has lost the comments that mark its part {name!r}")
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return page
