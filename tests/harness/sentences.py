"""The catalogue of sentences for users, collected from the sources, with their faults."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LONGEST = 25
BEGINNINGS = ("What", "Of", "So", "Whose", "Who")
# Phrases that docs/style.md rules out, and the word to use.
RULED_OUT = {
    r"\bcomes? of\b": "comes from",
    r"changed places": "swapped",
    r"counts? for nobody": "excused or taken out",
    r"paid for": "deducted",
    r"tells? nobody": "everyone",
    r"\bmend(s|ed)?\b": "fix",
    r"\banew\b": "again",
    r"\bplays? it\b": "a GPU",
    r"\bastray\b": "wrong",
    r", lines? \d": "path:line",
    r"\(s\)": "1 test, 2 tests",
    r"\bexchanged\b|chang(e|ing) places": "swapped",
    r"\bwanted\b": "expected",
    r"\bwants?\b": "needs",
    r"\black(s|ing)?\b": "missing",
    r"(?<!here )\bis no (?!longer\b)": "is not",
    r"\bturned round\b": "transposed",
    r"\bbusiness\b": "for",
    r"\b(seat|errand|parcel|luggage|sitting)s?\b": "session",
}
# The files with sentences for users, in the order in which a student meets them.
_WRITTEN_IN = (
    "solutions/mistakes/*.py",
    "examples/*/solutions/**/*.py",
    "**/solutions/*.toml",
    "grader/**/*.toml",
    "grader/**/*.py",
    "grader/**/*.jinja",
    "grader/**/*.js",
    "grader/**/*.md.template",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "docs/*.md",
    "grader/*/README.md",
    "examples/*/README.md",
    "examples/*/docs/students.md",
)
# Lists of system calls, names for a C library, and other people's packages.
_NOT_WRITTEN = ("grader/worker/confinement/", "grader/worker/multiprocessing.py", "/vendor/")
# A pattern for other people's texts, or a database query, is not a sentence.
_NO_SENTENCE = re.compile(r"\\\w|\(\?|\$[\w*]|\b(?:SELECT|INSERT|DELETE|WHERE)\b|\|No ")
_PLACEHOLDER = "{}"
# The mark of an entry in a list, or of emphasis.
_MARK = re.compile(r"^(?:[-*|] |\d+\. )?[*\"(]*")
_WORD = re.compile(r"[A-Za-z]{2,}")
_FEWEST = 4
_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z`{\"])|\n+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as its module writes it; `{}` stands for what is filled in."""

    path: str
    line: int
    text: str

    def faults(self) -> Iterator[str]:
        """Yields each rule of docs/style.md that the sentence breaks."""
        words = self.text.split()
        if len(words) > LONGEST:
            yield f"{len(words)} words, {LONGEST} at most"
        begins = _MARK.sub("", self.text).partition(" ")[0]
        if begins in BEGINNINGS:
            yield f"begins with {begins}"
        for phrase, instead in RULED_OUT.items():
            found = re.search(phrase, self.text)
            if found:
                yield f"{found[0]!r}: say {instead!r}"


# In a template: instructions, what is filled in, elements that begin a text, and other markup.
_INSTRUCTION = re.compile(r"\{#.*?#\}|\{%.*?%\}", re.DOTALL)
_FILLED = re.compile(r"\{\{.*?\}\}|\$\{[^}]*\}", re.DOTALL)
_BLOCK = re.compile(
    r"</?(?:p|li|[uo]l|h\d|div|section|d[dt]|t[dhr]|summary|figcaption|button|option|label)\b[^>]*>"
)
_MARKUP = re.compile(r"<[^>]*>")
_LITERAL = re.compile(r"\"([^\"\\\n]*)\"|`([^`]*)`")


def catalogue(root: Path) -> Iterator[Sentence]:
    """Yields all sentences for users in the files below `root`."""
    for pattern in _WRITTEN_IN:
        for file in sorted(root.glob(pattern)):
            if not any(part in file.relative_to(root).as_posix() for part in _NOT_WRITTEN):
                yield from _READERS[file.suffix](file, root)


def sentences_of_template(file: Path, root: Path) -> Iterator[Sentence]:
    """Yields the sentences of a page's template, without its markup."""
    text = _FILLED.sub(_PLACEHOLDER, file.read_text(encoding="utf-8"))
    text = _MARKUP.sub("", _BLOCK.sub("\t", _INSTRUCTION.sub(_kept_lines, text)))
    for number, line in enumerate(text.splitlines(), 1):
        for part in line.split("\t"):
            yield from _split(part, file.relative_to(root).as_posix(), number)


def _kept_lines(instruction: re.Match[str]) -> str:
    return "\n" * instruction[0].count("\n")


def sentences_of_script(file: Path, root: Path) -> Iterator[Sentence]:
    """Yields the sentences of a script's texts."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for text in _LITERAL.finditer(line):
            said = _FILLED.sub(_PLACEHOLDER, text[1] or text[2] or "")
            yield from _split(said, file.relative_to(root).as_posix(), number)


_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_NOT_PROSE = re.compile(r"^(?: {4}|\t|#).*$", re.MULTILINE)
_CODE_SPAN = re.compile("`[^`\n]*`")
# An empty line, an entry of a list, a row of a table or the next of its cells.
_NEXT_TEXT = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)| \| )")


def sentences_of_page(file: Path, root: Path) -> Iterator[Sentence]:
    """Yields the sentences of a page in Markdown, without its code."""
    text = _NOT_PROSE.sub("", _FENCE.sub(_kept_lines, file.read_text(encoding="utf-8")))
    path, number = file.relative_to(root).as_posix(), 1
    for part in _NEXT_TEXT.split(_CODE_SPAN.sub(_PLACEHOLDER, text)):
        yield from _split(" ".join(part.split()), path, number)
        number += part.count("\n")


def sentences_of_table(file: Path, root: Path) -> Iterator[Sentence]:
    """Yields the sentences of a TOML file's texts."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        for text in _LITERAL.finditer(line):
            yield from _split(text[1] or "", file.relative_to(root).as_posix(), number)


def _split(text: str, path: str, line: int) -> Iterator[Sentence]:
    for sentence in _END.split(text):
        if len(_WORD.findall(sentence)) >= _FEWEST and " " in sentence.strip():
            yield Sentence(path, line, sentence.strip())


def sentences_in(file: Path, root: Path) -> Iterator[Sentence]:
    """Yields the sentences of a module's texts, but not of its docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"), file)
    inner = {id(one) for node in _texts_to_fill(tree) for one in ast.walk(node) if one is not node}
    skipped = inner | {id(node) for node in _docstrings(tree)}
    path = file.relative_to(root).as_posix()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        text = _text_of(node)
        if _NO_SENTENCE.search(text):
            continue
        yield from _split(text, path, getattr(node, "lineno", 0))


def _text_of(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else _PLACEHOLDER
                for part in parts
            )
    return ""


def _texts_to_fill(tree: ast.AST) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            yield first.value


_READERS = {
    ".py": sentences_in,
    ".jinja": sentences_of_template,
    ".js": sentences_of_script,
    ".md": sentences_of_page,
    ".template": sentences_of_page,
    ".toml": sentences_of_table,
}

# Texts in which sentences appear as users read them.
_FILLED_IN = ("docs/*.md", "tests/harness/**/*.py", "tests/harness/**/*.toml")


def example(sentence: Sentence, texts: Sequence[str]) -> str:
    """Returns a sentence with its gaps filled, as one of the texts has it; "" if none does."""
    parts = sentence.text.split(_PLACEHOLDER)
    longest = max(parts, key=len)
    pattern = re.compile("[^\n]{1,60}?".join(map(re.escape, parts)))
    found = (pattern.search(text) for text in texts if longest in text)
    return next((one[0] for one in found if one and _PLACEHOLDER not in one[0]), "")


def main() -> None:
    """Prints the catalogue: each sentence with its place, its faults and an example."""
    root = Path(__file__).parents[2]
    files = [file for pattern in _FILLED_IN for file in sorted(root.glob(pattern))]
    texts = [file.read_text(encoding="utf-8") for file in files]
    for one in catalogue(root):
        against = "".join(f"  [{fault}]" for fault in one.faults())
        print(f"{one.path}:{one.line}: {one.text}{against}")
        filled = example(one, texts) if _PLACEHOLDER in one.text else ""
        if filled:
            print(f"    for example: {filled}")


if __name__ == "__main__":
    main()
