"""Spellings of commands from the previous version, which work until the next version."""

from __future__ import annotations

from collections.abc import Sequence

_OPTIONS = {
    "run": {"--output": "--out"},
    "export": {"--output": "--out"},
    "feedback": {"--for": "--format"},
}
_DECISIONS = {
    "drop": "taken-out",
    "excuse": "excused",
    "extend": "extension",
    "take": "taken-instead",
    "days": "late-days",
    "time": "handed-in",
}
_VERBS_OF_MISTAKES = ("list", "name", "add")


def respelled(words: Sequence[str]) -> tuple[list[str], str | None]:
    """Returns a command in its current spelling, and a notice if the spelling was old."""
    match words:
        case ["tests", "weak", *rest]:
            return ["report", *rest, "--details"], _line(
                "tests weak RESULTS", "report RESULTS --details"
            )
        case ["mistakes", verb, *rest] if verb in _VERBS_OF_MISTAKES and _folder_in(rest):
            folder = _folder_in(rest)
            rest.remove(folder)
            said = _line(f"mistakes {verb} RESULTS …", f"mistakes RESULTS {verb} …")
            return ["mistakes", folder, verb, *rest], said
        case ["decide", folder, decision, *rest] if decision in _DECISIONS:
            now = _DECISIONS[decision]
            said = _line(f"decide RESULTS {decision} …", f"decide RESULTS {now} …")
            return ["decide", folder, now, *rest], said
        case [command, *rest] if command in _OPTIONS:
            return _with_options(command, rest)
    return [*words], None


def _folder_in(rest: Sequence[str]) -> str:
    """Returns the first argument after a verb, or "" if that is a verb too."""
    word = next((word for word in rest if not word.startswith("-")), "")
    return "" if word in _VERBS_OF_MISTAKES else word


def _with_options(command: str, rest: Sequence[str]) -> tuple[list[str], str | None]:
    words, said = [command], None
    for word in rest:
        option, equals, value = word.partition("=")
        now = _OPTIONS[command].get(option)
        words.append(f"{now}{equals}{value}" if now else word)
        said = _line(f"{command} … {option}", f"{command} … {now}") if now else said
    return words, said


def _line(before: str, now: str) -> str:
    return f"`grader {before}` is now `grader {now}`; the old spelling works until version 0.2"
