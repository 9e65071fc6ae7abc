"""Mistakes that a class made, as the assignment keeps them in `solutions/seen/`."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from pathlib import Path

from grader.authoring.templates import filled
from grader.core.files import replaced
from grader.explain.mistakes.named_mistakes import BadNames, NamedMistake, read_file, write_file

FOLDER = "seen"
_STUB = Path(__file__).with_name("stub.py.template")


def add_to_course(solutions: Path, named: Sequence[NamedMistake]) -> list[Path]:
    """Writes a mistake's answers and a stub of its variant into `solutions`; returns the files.

    Raises:
        BadNames: if one of the files exists already, or cannot be written.
    """
    mistake = named[0].diagnosis.mistake
    answers = solutions / FOLDER / f"{mistake}.toml"
    if answers.exists():
        raise BadNames(f"{answers} exists already: the mistake was added before")
    written = [answers]
    package = solutions / "mistakes"
    name = mistake.replace("-", "_")
    if keyword.iskeyword(name) or name[0].isdigit():
        name = f"the_{name}"
    try:
        answers.parent.mkdir(parents=True, exist_ok=True)
        stub = (package if package.is_dir() else answers.parent) / f"{name}.py"
        text = stub_of(named, name)
        # A stub with this very text is from an earlier run that was stopped here.
        if stub.exists() and stub.read_text(encoding="utf-8") != text:
            raise BadNames(f"{stub} exists already: give the mistake another id")
        with replaced(stub) as partial:
            partial.write_text(text, encoding="utf-8")
        write_file(answers, named)
        written.append(stub)
    except OSError as error:
        raise BadNames(f"{answers} cannot be written: {error.strerror}") from error
    return written


def stub_of(named: Sequence[NamedMistake], name: str) -> str:
    """Returns the stub of a variant, which an author completes."""
    said = named[0].diagnosis
    return filled(
        _STUB,
        id=said.mistake,
        sentence=" ".join(said.explanation.split()),
        hint=" ".join(said.hint.split()),
        exercise=" and ".join(one.exercise for one in named),
        name=name,
    )


def seen_in_classes(solutions: Path) -> list[NamedMistake]:
    """Returns the mistakes that were added, with the answers of a class.

    Raises:
        BadNames: if one of their files is damaged.
    """
    files = sorted((solutions / FOLDER).glob("*.toml"))
    return [named for file in files for named in read_file(file)]
