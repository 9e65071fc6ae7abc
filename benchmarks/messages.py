"""The share of messages that say the same as a tutor, and point to the tutor's line.

    .venv/bin/python benchmarks/messages.py [--jobs 2] [--sample N] [--misses] [--home] [STYLE ...]

Each slip of `benchmarks/messages` is graded and explained as one of a class. The messages come from
the wrong tests of the exercise that the slip names. If most of them say to fix another exercise
first, its tests count instead. A message is the verdict's own text with the mistake's explanation
and hint. With `--home`, `pytest` also runs the tests of that exercise in the students' handout.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.machine import description  # noqa: E402
from benchmarks.messages_corpus import Told, folded, load  # noqa: E402
from benchmarks.messages_home import in_the_handout  # noqa: E402
from benchmarks.slips_corpus import Line, build  # noqa: E402
from grader import Grade, batch  # noqa: E402
from grader.core.verdict import Status, Verdict  # noqa: E402

RIGHT, WRONG, NOTHING = "right", "wrong", "nothing"
_PASSED = (Status.PASSED, Status.MISSING)
# A busy machine must not change the messages.
_PATIENCE = 120.0


@dataclass(frozen=True)
class Message:
    """The text and the lines of one failed test, or of the submission as a whole."""

    words: str
    lines: frozenset[Line]
    test: str = ""


@dataclass(frozen=True)
class Read:
    """The messages of one wrong program: those of the exercise with the slip, and all."""

    told: Told
    messages: tuple[Message, ...]
    everything: tuple[Message, ...]

    @property
    def sentence(self) -> str:
        """Whether most messages have the tutor's sentence; wrong if any message misleads."""
        if any(self.told.misled_by(message.words) for message in self.everything):
            return WRONG
        said = [self.told.is_said_in(message.words) for message in self.messages]
        return RIGHT if said and 2 * sum(said) >= len(said) else NOTHING

    @property
    def line(self) -> str:
        """Whether most messages that point to a line point to the guilty one."""
        guilty = set(self.told.slip.lines)
        pointing = [message for message in self.messages if message.lines]
        hits = [bool(message.lines & guilty) for message in pointing]
        if not pointing:
            return NOTHING
        return RIGHT if 2 * sum(hits) >= len(hits) else WRONG

    @property
    def outcome(self) -> str:
        """The combined outcome of sentence and line."""
        both = {self.sentence, self.line}
        return WRONG if WRONG in both else RIGHT if both == {RIGHT} else NOTHING


def read(told: Told, grade: Grade) -> Read:
    """Returns the messages of a grade."""
    wrong = [test for test in grade.tests if test.status not in _PASSED]
    fixed = {name: one.places for one in grade.evidence.repairs for name in one.exercises}
    everything = [(test.exercise, _message(test, fixed.get(test.exercise, ()))) for test in wrong]
    if not grade.tests or not wrong:
        whole = Message(grade.message or "", frozenset(_lines_in(grade.message or "")))
        return Read(told, (whole,), (whole,))
    names = list(dict.fromkeys(name for name, _ in everything))
    root = told.adapter if told.adapter in names else names[0]
    messages = tuple(message for name, message in everything if name == root)
    for first in names:
        if 2 * sum(f"Fix {first} first" in message.words for message in messages) > len(messages):
            messages = tuple(message for name, message in everything if name == first)
            break
    return Read(told, messages, tuple(message for _, message in everything))


def _message(test: Verdict, places: Iterable[tuple[str, int]]) -> Message:
    said = [test.message or ""]
    if test.diagnosis is not None:
        said += [test.diagnosis.explanation, test.diagnosis.hint]
    lines = {Line(*place) for place in places}
    if test.where is not None and (test.where.file, test.where.line) not in lines:
        lines = {Line(test.where.file, test.where.line)}
    return Message("\n".join(said), frozenset(lines), test.id)


def _lines_in(message: str) -> Iterable[Line]:
    """Yields the places that a sentence names as `(file:3)`."""
    for part in message.split("(")[1:]:
        file, colon, number = part.partition(")")[0].rpartition(":")
        if colon and number.isdigit():
            yield Line(file, int(number))


def in_class(corpus: Sequence[Told], jobs: int) -> list[Read]:
    """Returns the messages of each wrong program, after the class was graded."""
    with tempfile.TemporaryDirectory() as scratch:
        programs = Path(scratch, "programs")
        programs.mkdir()
        wrong = {build(told.slip, programs).name: told for told in corpus}
        results = batch(
            programs,
            Path(scratch, "out"),
            assignment=ROOT,
            jobs=jobs,
            seed=1,
            explain_timeout=_PATIENCE,
        )
        return [read(wrong[g.submission], g) for g in results.grades_of(wrong, whole=True)]


def table(reads: Sequence[Read], key: Callable[[Read], str], title: str) -> Iterable[str]:
    """Yields a table of right and misleading messages, by style or kind."""
    rows: dict[str, list[Read]] = {}
    for one in reads:
        rows.setdefault(key(one), []).append(one)
    yield f"{title:<28}{'slips':>7}{'both':>7}{'sentence':>10}{'line':>7}{'misled':>8}"
    for name, row in [*sorted(rows.items()), ("all", list(reads))]:
        both, sentence, line = (
            sum(getattr(one, what) == RIGHT for one in row)
            for what in ("outcome", "sentence", "line")
        )
        misled = sum(one.outcome == WRONG for one in row)
        yield f"{name:<28}{len(row):>7}{both:>7}{sentence:>10}{line:>7}{misled:>8}"


def misses(reads: Iterable[Read]) -> Iterable[str]:
    """Yields the messages of the programs for which the tutor's sentence or line differs."""
    for one in reads:
        if one.outcome == RIGHT:
            continue
        slip = one.told.slip
        yield f"\n{slip.id}: sentence {one.sentence}, line {one.line}"
        yield f"    {slip.right.strip()!r} -> {slip.wrong.strip()!r}"
        yield f"    tutor, line {slip.lines[0].number}: {one.told.tutor} {one.told.says}"
        for (words, lines), count in Counter(
            (message.words, message.lines) for message in one.messages
        ).most_common(2):
            places = ", ".join(f"{line.file}:{line.number}" for line in lines) or "no line"
            text = "\n      ".join(words.splitlines())
            yield f"    {count} of {len(one.messages)}, {places}:\n      {text}"


def compared(reads: Sequence[Read]) -> Iterable[str]:
    """Yields the differences of `pytest` at home from class, for public tests that failed."""
    public = [(one, m) for one in reads for m in one.messages if "tests/public/" in m.test]
    first = {one.told.slip.id: (one, message) for one, message in reversed(public)}
    printed = in_the_handout(ROOT, [(one.told.slip, m.test) for one, m in first.values()])
    count: Counter[str] = Counter()
    for one, message in first.values():
        told, home = one.told, folded(printed[one.told.slip.id])
        lines = {line for line in message.lines if f"{line.file}:{line.number}" in home}
        missing = [line for line in sentences(message.words) if folded(line) not in home]
        count["sentence"] += told.is_said_in(home)
        count["line"] += bool(lines & set(told.slip.lines))
        count["misled"] += told.misled_by(home) is not None
        count["same words"] += not missing
        count["same lines"] += lines == message.lines
        if missing:
            yield f"{told.slip.id}: not said at home: {missing[0]}"
    share = ", ".join(f"{what} {number}" for what, number in count.items())
    yield f"at home, of {len(first)}: {share}"


def sentences(words: str) -> Iterable[str]:
    """Yields the sentences of a message, without tables and references to other tests."""
    for line in words.splitlines():
        if not line.startswith(("    ", "The same mistake", "Fix ", "The test called")):
            yield line


def main() -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--home", action="store_true")
    parser.add_argument("styles", nargs="*", metavar="STYLE")
    asked = parser.parse_args()
    corpus = load(asked.styles)
    if asked.sample:
        corpus = random.Random(asked.sample).sample(corpus, min(asked.sample, len(corpus)))
    print(description())
    reads = in_class(corpus, asked.jobs)
    if asked.misses:
        print("\n".join(misses(reads)))
    print("\n".join(["", *table(reads, lambda one: one.told.slip.kind, "kind")]))
    print("\n".join(["", *table(reads, lambda one: one.told.slip.style, "style")]))
    share = sum(one.outcome == RIGHT for one in reads) / len(reads)
    print(f"\nright sentence and right line: {share:.1%} of {len(reads)}")
    if asked.home:
        print("\n".join(compared(reads)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
