"""Explains what ends or stops a program: exits, debuggers, endless recursion, memory, syntax."""

from __future__ import annotations

import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, Explanation, kind, source_of


def _exit(match: re.Match[str], _: Raised) -> Explanation:
    text = "" if match[1] in ("None", "0") else match[1].strip()
    message = "the program was ended" + (f" with {text[:200]}" if text else "")
    return Explanation(
        "sys.exit(), exit() and quit() end the whole program, and so does argparse where arguments "
        "do not fit: a function returns, or raises what is wrong.",
        message,
    )


def _recursion(_: re.Match[str], raised: Raised) -> str:
    functions = [frame.function for frame in raised.frames]
    if len(functions) > 2 and len(set(functions[-3:])) == 1:
        return f"{functions[-1]} calls itself deeper than Python goes: without an end, perhaps."
    return "Functions call each other deeper than Python goes: without an end, perhaps."


def _assertion(_: re.Match[str], raised: Raised) -> str | None:
    if not source_of(raised).startswith("assert"):
        return None
    return "This assert is your own, and does not hold here."


def _memory(match: re.Match[str], _: Raised) -> Explanation:
    size = int(match[1]) / (1 << 30)
    return Explanation(
        "Is that tensor larger than it need be: does broadcasting blow up two axes that should "
        "have been one, or is a size wrong?",
        f"not enough memory for a tensor of {size:,.3g} GiB",
    )


def _one_equals_sign(_: re.Match[str], raised: Raised) -> str | None:
    """A condition that sets a name where it means to compare."""
    source = source_of(raised)
    is_condition = source.startswith(("if ", "elif ", "while ", "return ", "assert "))
    at = source[raised.column - 1 : raised.column + 1] if raised.column else ""
    if is_condition and at.startswith("=") and at != "==":
        return "One = sets a name; == compares."
    return None


_TABS = "Indent with spaces alone: an editor can turn every tab into four of them."

PROGRAM: tuple[ExceptionKind, ...] = (
    kind(r"^SystemExit: (.*)", _exit),
    kind(
        r"^BdbQuit: ",
        lambda *_: Explanation(
            "Nobody is there to type into a debugger: leave breakpoint() out of what you hand in.",
            "a debugger was started",
        ),
    ),
    kind(
        r"^EOFError: EOF when reading a line",
        "Nobody is there to type: input() cannot be answered.",
    ),
    kind(r"^KeyboardInterrupt: ", lambda *_: Explanation("", "raised by the code itself")),
    kind(r"^RecursionError: ", _recursion),
    kind(r"^AssertionError: ", _assertion),
    kind(r"tried to allocate (\d{1,18}) bytes", _memory),
    kind(r"^SyntaxError: invalid syntax", _one_equals_sign),
    kind(r"^TabError: ", _TABS),
)
