"""Hook of MkDocs with the special rules of the documentation site.

The pages link to files of the repository by relative paths, which work wherever the repository is
browsed.  Some of those files are pages of the site (:data:`PAGES`); of the others the site shows
the source.  A link to a file that does not exist fails the build.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "scripts/README.md": "scripts.md",
}
"""Files outside ``docs/``, and the pages of the site that they are."""
LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s:#]+)(?P<anchor>#[^)\s]*)?(?=\))")
"""The target of an inline link or picture, if it is a relative path."""
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
"""Code, in which nothing is a link."""
SESSION = re.compile(
    r'<div class="highlight">(?=<pre>(?:<span></span>)?<code>(?P<code>(?:(?!</code>).)*?'
    r'class="gp".*?)</code>)',
    re.DOTALL,
)
"""A code block with prompts, as Pygments renders it."""
BOOSTS = {
    "glossary.md": 2.0,
    "reference/": 0.25,
    "results/": 0.2,
    "changelog.md": 0.1,
    "contributing.md": 0.25,
    "developing.md": 0.25,
    "scripts.md": 0.25,
    "architecture.md": 0.5,
}
"""Weights of pages in the search, by the beginning of their path; guides have weight 1."""
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".md": "markdown", ".csv": "text"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from files outside ``docs/``."""
    docs = Path(config.docs_dir).name
    texts = {
        f"{docs}/{file.src_uri}": file.content_string
        for file in files.documentation_pages()
        if file.src_uri.endswith(".md")
    }
    for source, page in PAGES.items():
        texts[source] = (ROOT / source).read_text("utf-8")
        files.append(File.generated(config, page, content=texts[source]))
    shown: set[str] = set()
    for origin, text in texts.items():
        for path, _ in _links(text):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
            if target.startswith(f"{docs}/") or target in PAGES or target in shown:
                continue
            shown.add(target)
            file = File.generated(config, _source_page(target), content=_source(origin, target))
            file.inclusion = InclusionLevel.NOT_IN_NAV
            files.append(file)
    return files


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Point links to the pages that :func:`on_files` added, and rank pages in the search."""
    docs, uri = Path(config.docs_dir).name, page.file.src_uri
    if not uri.endswith(".md") or uri.startswith("source/"):
        return markdown
    for beginning, boost in BOOSTS.items():
        if uri.startswith(beginning):
            page.meta.setdefault("search", {})["boost"] = boost
    origin = next((source for source, made in PAGES.items() if made == uri), f"{docs}/{uri}")

    def moved(match: re.Match[str]) -> str:
        path, anchor = match["path"], match["anchor"] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        if target.startswith(f"{docs}/"):
            target = target.removeprefix(f"{docs}/")
        else:
            target = PAGES.get(target) or _source_page(target)
        return posixpath.relpath(target, posixpath.dirname(uri) or ".") + anchor

    markdown = _outside_code(markdown, lambda text: LINK.sub(moved, text))
    # Pygments knows sessions with prompts as pycon; directives to doctest are not for readers.
    markdown = re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)
    return re.sub(r" *# doctest: .*", "", markdown)


def on_page_content(html: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Make the copy buttons of sessions copy the input, without prompts and output."""
    return SESSION.sub(_with_input, html)


def _with_input(session: re.Match[str]) -> str:
    """Return the opening tag of a session with the attribute that Material's copy button reads."""
    text = html.unescape(re.sub(r"<[^>]*>", "", session["code"]))
    source = "".join(example.source for example in DocTestParser().get_examples(text))
    return f'<div class="highlight" data-copy="{html.escape(source)}">'


def _links(text: str) -> Iterator[tuple[str, str]]:
    """Yield path and anchor of every relative link."""
    for match in LINK.finditer(CODE.sub("", text)):
        yield match["path"], match["anchor"] or ""


def _outside_code(text: str, change: Any) -> str:
    """Change a text outside its code."""
    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, change(text[end:])])


def _source_page(path: str) -> str:
    """Return the page that shows a file of the repository."""
    return f"source/{path}.md"


def _source(origin: str, path: str) -> str:
    """Return a page that shows a file, or the names in a folder.

    Raises:
        PluginError: There is no such file in the repository.
    """
    file = ROOT / path
    if path.startswith("..") or not file.exists():
        raise PluginError(f"{origin} links to {path}, which does not exist")
    if file.is_dir():
        names = sorted(f"{one.name}/" if one.is_dir() else one.name for one in file.iterdir())
        listed = "\n".join(f"- `{name}`" for name in names if not name.startswith(("__", ".")))
        return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n{listed}\n"
    language = LANGUAGES.get(file.suffix, "text")
    text = file.read_text("utf-8").rstrip()
    return (
        f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
        f"````` {{ .{language} linenums=1 }}\n{text}\n`````\n"
    )
