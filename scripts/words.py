"""Find docstrings, comments, messages and names that break the rules of plain English.

    python -m scripts.words                      every offence
    python -m scripts.words tensorcfr/kernels    every offence there
    python -m scripts.words --rule verb PATH     offences of one rule

``tests/project/test_words.py`` fails if there is any.

Rules:

    verb      the docstring of a function or method begins with a verb of :data:`VERBS`
    opening   the docstring of a property, field or class does not begin with a word of
              :data:`OPENINGS`; one of a boolean begins with "True if"
    relative  no ``what``, ``whatever``, ``whoever``, ``whichever``, ``that which`` outside a
              question
    no-noun   "is not a", never "is no" with a noun; "there is no" is fine
    subject   no sentence begins with "Those", "That of", "The same of", "Likewise"
    long      a sentence has at most :data:`MOST_WORDS` words
    word      no word of :data:`WORDS` in docstrings, comments and messages
    name      no word of :data:`NAMES` in a public name
    binding   no variable or parameter is called as in :data:`BINDINGS`
    class     no two classes of the package have the same name
    module    no two modules of the package have the same name
    heading   headings in the changelog are those of :data:`HEADINGS`

Code in backquotes, examples and literal blocks are not read.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "tensorcfr"
SCRIPTS = ("scripts", "benchmarks")
"""Folders of which the prose is checked, and names are not."""
PAGES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "scripts/README.md"),
    "docs",
)
MOST_WORDS = 35
"""The rule for writing is some 25."""
VERBS = set((ROOT / "scripts" / "verbs.txt").read_text(encoding="utf-8").split())
"""First words of docstrings of functions.  Add verbs of the field; say, tell, go, let, have, be and
meet hide the one that is meant."""
OPENINGS = {
    *("what", "whatever", "whether", "who", "whoever", "how", "why", "as", "see", "likewise"),
    *("those", "it", "its", "of", "for"),
}
BINDINGS = {"found", "own", "one", "other", "at", "here", "given", "made"}
BINDINGS_ALLOWED = {
    *(("deep/deep_state.py", "own"), ("kernels/local_rule.py", "at"), ("model/locks.py", "given")),
    *(("kernels/sampling_chance.py", "own"), ("model/policy.py", "given")),
    *(("payoff/blocks.py", "own"), ("payoff/blocks.py", "other")),
    ("solvers/sampled_solver.py", "own"),
}
"""Fields and public parameters that keep their names, which files and callers have."""
HEADINGS = {"Added", "Changed", "Fixed", "Removed", "Deprecated"}
WORDS = {
    "swept": r"\bswept\b",
    "walk": r"\bwalk(s|ed|ing)?\b(?!.through)",
    "thing": r"\bthings?\b",
    "he": r"\b(he|his|him)\b",
    "stands for": r"\bstands? for\b",
    "comes to": r"\bcomes? to\b",
    "is said": r"\b(is|are|was|were) (said|told)\b(?! apart)",
    "meets": r"\bmeets\b",
    "beside": r"\bbesides?\b",
    "but for": r"\bbut for\b",
    "in any case": r"\bin any case\b",
    "alike": r"\balike\b",
    "maybe": r"\bmaybe\b",
}
"""Words that CONTRIBUTING forbids and a pattern finds, and idioms that hide a condition."""
NAMES = {
    *("swept", "walk", "walks", "walked", "walking", "beside", "stands", "faced", "forgets"),
    *("judge", "judges", "judged", "judging", "asked", "settled", "said", "unsaid", "kept"),
    *("usual", "thing", "things"),
}
NAMES_ALLOWED = {"settled"}
"""Public names that stay as they are: ``settled`` is an option of a rule, and options are names in
files and on the command line."""
RULES = (
    *("verb", "opening", "relative", "no-noun", "subject", "long"),
    *("word", "name", "binding", "class", "module", "heading"),
)

RELATIVES = ("what", "whatever", "whoever", "whichever", "that which", "those which")
RELATIVE = re.compile(rf"\b({'|'.join(RELATIVES)})\b", re.I)
NO_NOUN = re.compile(
    r"(?<!there )\b(is|are|was|were|be) no (?!longer\b|more\b|less\b|fewer\b|one\b|\w+er than\b)",
    re.I,
)
SUBJECT = re.compile(r"(Those|That of|The same (of|for|with|in|as|when|where)|Likewise)\b")
CODE = re.compile(r":\w+:`[^`]*`|``.+?``|`[^`]+`|\"[^\"\n]*\"", re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[A-Z0-9`\"(*\[])")
EXAMPLE = re.compile(r">>>|\.\.\.|python -m |.*\S {3,}\S")
"""First line of an example, a list of commands or a table, up to the next blank line."""
LABEL = re.compile(r"^\s*(\*\*)?[\w.]+( \(.*?\))?: ")


class Text(NamedTuple):
    """A piece of prose of a file."""

    kind: str
    """``"module"``, ``"class"``, ``"function"``, ``"property"`` or ``"field"`` of a docstring;
    ``"comment"``, ``"message"``, ``"error"``, ``"page"``."""
    line: int
    text: str


class Module(NamedTuple):
    """A module of the package, parsed."""

    source: str
    nodes: list[ast.AST]
    """Nodes of the syntax tree, the module first."""


class Offence(NamedTuple):
    """A place that breaks a rule."""

    path: str
    line: int
    rule: str
    text: str


# ------------------------------------------------------------------------------- texts of a file


def parse(source: str) -> list[ast.AST]:
    """Return all nodes of the syntax tree of a module."""
    return list(ast.walk(ast.parse(source)))


@cache
def module(path: Path) -> Module:
    """Read and parse a module."""
    source = path.read_text(encoding="utf-8")
    return Module(source, parse(source))


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is read as an attribute."""
    names = [ast.unparse(one).partition("(")[0] for one in node.decorator_list]
    return any(name.endswith(("property", ".setter")) for name in names)


def docstring(body: list[ast.stmt]) -> ast.Constant | None:
    """Return the string with which a body begins."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value if isinstance(first.value.value, str) else None
    return None


def docstrings(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.Constant]]:
    """Yield the kind and the node of every docstring."""
    for node in nodes:
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if (found := docstring(node.body)) is not None:
                if isinstance(node, ast.Module):
                    yield "module", found
                elif isinstance(node, ast.ClassDef):
                    yield "class", found
                else:
                    yield "property" if is_property(node) else "function", found
            for before, after in zip(node.body, node.body[1:], strict=False):
                field = docstring([after])
                if isinstance(before, (ast.Assign, ast.AnnAssign)) and field is not None:
                    yield "field", field


def messages(nodes: list[ast.AST], taken: set[int]) -> Iterator[Text]:
    """Yield the strings of four words or more that are not docstrings, formulas or markup."""
    errors: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.keyword) and node.arg in ("formula", "source"):
            taken |= {id(part) for part in ast.walk(node)}
        if isinstance(node, ast.Raise):
            errors |= {id(part) for part in ast.walk(node)}
    for node in nodes:
        if id(node) in taken or not isinstance(node, (ast.JoinedStr, ast.Constant)):
            continue
        if isinstance(node, ast.JoinedStr):
            taken |= {id(part) for part in node.values}
            parts = [p.value if isinstance(p, ast.Constant) else "X" for p in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node.value, str):
            text = node.value
        else:
            continue
        if len(re.findall(r"[A-Za-z]{2,}", text)) >= 4 and not re.search(
            r"</?\w+[ >]|[{;]\n", text
        ):
            yield Text("error" if id(node) in errors else "message", node.lineno, text)


def comments(source: str) -> Iterator[Text]:
    """Yield the comments; lines of comments that follow each other are one."""
    begun, last, lines = 0, -1, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string.lstrip("#!: ")
        if token.type != tokenize.COMMENT or re.match(r"noqa|type: |pragma|-{5}", text):
            continue
        line, alone = token.start[0], token.line.lstrip().startswith("#")
        if lines and not (alone and line == last + 1):
            yield Text("comment", begun, "\n".join(lines))
            lines = []
        begun = begun if lines else line
        lines.append(text)
        last = line if alone else -1
    if lines:
        yield Text("comment", begun, "\n".join(lines))


def page_texts(source: str) -> Iterator[Text]:
    """Yield the paragraphs and headings of a page; code and tables of figures are left out."""
    kept = re.sub(r"^(```|~~~).*?^\1", lambda m: "\n" * m[0].count("\n"), source, flags=re.M | re.S)
    line = 1
    for paragraph in re.split(r"(\n[ \t]*\n)", kept):
        for number, item in items(paragraph):
            if item.strip() and not re.match(r"\s*(>>>|\.\.\.|<|!|:::|\||\[\^)", item):
                yield Text("page", line + number, item)
        line += paragraph.count("\n")


def items(paragraph: str) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line and the text of each item of a list, heading or rest."""
    begun, lines = 0, list[str]()
    for number, line in enumerate(paragraph.split("\n")):
        if lines and re.match(r"\s*([*+-]|\d+\.|#+|\|) ", line):
            yield begun, "\n".join(lines)
            begun, lines = number, []
        lines.append(line)
    yield begun, "\n".join(lines)


@cache
def texts_of(path: Path) -> list[Text]:
    """Return all prose of a module or a page."""
    if path.suffix == ".md":
        return list(page_texts(path.read_text(encoding="utf-8")))
    source, nodes = module(path)
    documented = list(docstrings(nodes))
    texts = [Text(kind, node.lineno, str(node.value)) for kind, node in documented]
    texts += messages(nodes, {id(node) for _, node in documented})
    return [*texts, *comments(source)]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line, counted from 0, and the text of each sentence of a docstring or paragraph."""
    blank = CODE.sub(lambda m: "`X`" + "\n" * m[0].count("\n"), text)
    lines, begun, skips = list[str](), 0, False
    for number, line in enumerate([*blank.split("\n"), ""]):
        bare = line.strip()
        example = bool(EXAMPLE.match(bare))
        skips = (skips or example) and bool(bare)
        label = LABEL.match(line)
        if lines and (not bare or skips or label or re.match(r"([*+-]|\d+\.|\|) ", bare)):
            yield from sentences(lines, begun)
            lines = []
        if bare and not skips:
            begun = begun if lines else number
            lines.append(line[label.end() :] if label else bare)


def sentences(lines: list[str], begun: int) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each sentence of a paragraph."""
    text, at = "\n".join(lines), 0
    for sentence in SENTENCE_END.split(text):
        at = text.index(sentence, at)
        yield begun + text[:at].count("\n"), " ".join(sentence.split())
        at += len(sentence)


# ------------------------------------------------------------------------------------ the rules


def first_word(text: str) -> str:
    """Return the first word of a docstring, in lower case."""
    return re.split(r"[\s,.;:]", text.strip(), maxsplit=1)[0].lower()


def begins_with_verb(text: str) -> bool:
    """Return whether a docstring begins with an imperative verb and not with a noun like it."""
    return first_word(text) in VERBS and not re.match(r"\s*\w+ (of|over)\b", text)


def in_prose(text: Text, path: str) -> Iterator[Offence]:
    """Yield the offences of one piece of prose."""
    if text.kind == "function" and not begins_with_verb(text.text):
        yield Offence(path, text.line, "verb", text.text.strip().split("\n")[0])
    if text.kind in ("property", "field", "class") and first_word(text.text) in OPENINGS:
        yield Offence(path, text.line, "opening", text.text.strip().split("\n")[0])
    heading = text.text.lstrip().startswith("#")
    named = re.match(r"### (.+)", text.text) if path == "CHANGELOG.md" else None
    if named and named[1] not in HEADINGS:
        yield Offence(path, text.line, "heading", named[1])
    for line, sentence in prose(text.text):
        broken = list[str]()
        if RELATIVE.search(sentence) and not sentence.endswith("?") and not heading:
            broken.append("relative")
        if NO_NOUN.search(sentence):
            broken.append("no-noun")
        if text.kind not in ("message", "error") and SUBJECT.match(sentence):
            broken.append("subject")
        if text.kind != "message" and len(re.findall(r"\S*\w\S*", sentence)) > MOST_WORDS:
            broken.append("long")
        if text.kind != "page":
            broken += ["word" for word in WORDS.values() if re.search(word, sentence, re.I)]
        for rule in broken:
            yield Offence(path, text.line + line, rule, sentence)


def name_words(name: str) -> set[str]:
    """Return the words of a name, ``{"local", "rule"}`` for ``LocalRule`` and ``local_rule``."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)}


def in_names(nodes: list[ast.AST], path: str) -> Iterator[Offence]:
    """Yield public names with forbidden words, and bindings that say nothing."""
    for node in nodes:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            public = [(node.name, node.lineno)]
        elif isinstance(node, ast.arg):
            public = [(node.arg, node.lineno)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            public = [(node.target.id, node.lineno)]
        else:
            public = []
        for name, line in public:
            if not name.startswith("_") and name not in NAMES_ALLOWED and name_words(name) & NAMES:
                yield Offence(path, line, "name", name)
        stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        name = node.id if stored else node.arg if isinstance(node, ast.arg) else ""
        if name in BINDINGS and (path.removeprefix(f"{PACKAGE}/"), name) not in BINDINGS_ALLOWED:
            yield Offence(path, node.lineno, "binding", name)


def shared_names(modules: dict[str, list[ast.AST]]) -> Iterator[Offence]:
    """Yield classes and modules of the package that have the name of another one."""
    classes = [
        (node.name, path, node.lineno)
        for path, nodes in modules.items()
        for node in nodes
        if isinstance(node, ast.ClassDef)
    ]
    stems = [(Path(path).stem, path, 1) for path in modules if "__" not in Path(path).stem]
    for rule, named in (("class", classes), ("module", stems)):
        count = Counter(name for name, _, _ in named)
        for name, path, line in named:
            if count[name] > 1:
                yield Offence(path, line, rule, f"{name}, {count[name]} times")


def offences() -> list[Offence]:
    """Return all offences of the package and the pages."""
    wrong, modules = list[Offence](), {}
    for path in files():
        name = path.relative_to(ROOT).as_posix()
        for text in texts_of(path):
            wrong += in_prose(text, name)
        if path.suffix == ".py" and name.startswith(PACKAGE):
            modules[name] = module(path).nodes
            wrong += in_names(modules[name], name)
    return sorted([*wrong, *shared_names(modules)])


def files() -> list[Path]:
    """Return the modules of the package, scripts and benchmarks, and the pages."""
    pages = [ROOT / name for name in PAGES]
    written = [p for page in pages for p in ([page] if page.is_file() else page.rglob("*.md"))]
    modules = (path for top in (PACKAGE, *SCRIPTS) for path in (ROOT / top).rglob("*.py"))
    return sorted([*modules, *written])


def main() -> int:
    """Print the offences below the given paths, and the number of offences of each rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", help="files or folders; by default all")
    parser.add_argument("--rule", choices=RULES, help="only the offences of one rule")
    given = parser.parse_args()
    paths = [path.rstrip("/") for path in given.paths or ["."]]
    wrong = [
        one
        for one in offences()
        if given.rule in (None, one.rule) and any(Path(one.path).is_relative_to(p) for p in paths)
    ]
    for one in wrong:
        print(f"{one.path}:{one.line}: {one.rule}: {one.text[:160]}")
    counts = Counter(one.rule for one in wrong)
    print(", ".join(f"{count} {rule}" for rule, count in counts.items()) or "no offences")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
