"""A mistake of a class is added to the assignment: its answers, and a stub to complete."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.seen_mistakes import add_to_course, seen_in_classes
from grader.core.explanation import WrongAnswer, WrongAnswers
from grader.core.verdict import Diagnosis
from grader.explain.mistakes.named_mistakes import BadNames, NamedMistake

pytestmark = pytest.mark.unit


def a_mistake(name: str = "keys-not-transposed", *exercises: str) -> list[NamedMistake]:
    """Returns a mistake with answers in some exercises, by default in `run_rope`."""
    said = Diagnosis(name, "Your keys\nare not transposed.", "Which axes\nare summed over?")
    answer = WrongAnswer("t", 0, True, (1,), (0.5,), (1e-6, 1e-5), "x: float32[1]", 1)
    return [NamedMistake(said, WrongAnswers(one, (answer,))) for one in exercises or ("run_rope",)]


def written_below(folder: Path) -> list[str]:
    """Returns all files in a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))


def test_the_answers_are_read_back_and_the_stub_compiles(tmp_path):
    """Sentences with line breaks stay within their comments."""
    mistake = a_mistake("keys-not-transposed", "run_rope", "run_mha")
    files = add_to_course(tmp_path / "solutions", mistake)
    seen = tmp_path / "solutions" / "seen"
    assert files == [seen / "keys-not-transposed.toml", seen / "keys_not_transposed.py"]
    assert written_below(tmp_path) == [
        "solutions/seen/keys-not-transposed.toml",
        "solutions/seen/keys_not_transposed.py",
    ]
    assert seen_in_classes(tmp_path / "solutions") == mistake
    text = files[1].read_text()
    names: dict[str, object] = {}
    exec(compile(text, "stub", "exec"), names)
    assert "keys_not_transposed" in names
    assert "# Your keys are not transposed.\n# Which axes are summed over?\n" in text
    assert "answered in run_rope and run_mha." in text


@pytest.mark.parametrize(
    ("mistake", "name"),
    [("lambda", "the_lambda"), ("2-heads", "the_2_heads"), ("no-scale", "no_scale")],
)
def test_the_stub_of_any_id_has_a_name_of_python(tmp_path, mistake, name):
    """An id may be a keyword or begin with a digit."""
    (_, stub) = add_to_course(tmp_path, a_mistake(mistake))
    assert stub.name == f"{name}.py"
    compile(stub.read_text(), "stub", "exec")


def test_the_stub_goes_into_the_package_of_mistakes_if_there_is_one(tmp_path):
    """An assignment with many mistakes has a module for each part."""
    (tmp_path / "mistakes").mkdir()
    assert add_to_course(tmp_path, a_mistake())[1].parent == tmp_path / "mistakes"


def test_a_mistake_is_added_only_once(tmp_path):
    """The author's completed stub must stay."""
    add_to_course(tmp_path, a_mistake())
    with pytest.raises(BadNames, match=r"transposed\.toml exists already: the mistake was"):
        add_to_course(tmp_path, a_mistake())


def test_a_stub_of_another_text_is_not_replaced(tmp_path):
    """The very same stub is from an earlier run that was stopped."""
    answers, stub = add_to_course(tmp_path, a_mistake())
    answers.unlink()
    add_to_course(tmp_path, a_mistake())
    answers.unlink()
    stub.write_text("mine")
    with pytest.raises(BadNames, match=r"py exists already: give the mistake another id"):
        add_to_course(tmp_path, a_mistake())
    assert (stub.read_text(), answers.exists()) == ("mine", False)


def test_an_unwritable_folder_is_refused_in_one_sentence(tmp_path):
    """The folder of solutions is a file here."""
    (tmp_path / "solutions").write_text("")
    with pytest.raises(BadNames, match=r"keys-not-transposed.toml cannot be written: Not a dir"):
        add_to_course(tmp_path / "solutions", a_mistake())
