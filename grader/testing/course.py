"""Imports the course's own code: the contract of its adapters and its references."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from grader.core.adapter_names import is_adapter
from grader.core.assignment import BadAssignment
from grader.testing.contract.contract import Adapter, read_contract
from grader.worker.exceptions.raising import describe_exception

_FUNCTION = re.compile(r"\w+\.((?:run|get)_\w+)\(\)")


def make_importable(root: Path) -> None:
    """Puts the folder of an assignment first on `sys.path`."""
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


@contextlib.contextmanager
def course_code(what: str, root: Path) -> Iterator[None]:
    """What is raised inside by the course's own code is its author's to mend.

    Raises:
        BadAssignment: in place of whatever was raised; the text says in which line.
    """
    try:
        yield
    except BadAssignment:
        raise
    except (Exception, SystemExit) as exception:
        raised = describe_exception(exception, root)
        place = next((f" ({f.file}, line {f.line})" for f in reversed(raised.frames)), "")
        said = _of_a_protocol(exception) or f"{raised.kind}: {' '.join(raised.message.split())}"
        raise BadAssignment(f"{what} cannot be used: {said}{place}") from exception


def _of_a_protocol(exception: BaseException) -> str | None:
    """What to do where a type checker met a Protocol, which none can check at runtime."""
    is_checkers = type(exception).__module__.partition(".")[0] == "beartype"
    if not is_checkers or "Protocol" not in str(exception):
        return None
    found = _FUNCTION.search(str(exception))
    name = f" of {found[1]}" if found else ""
    return (
        f"a type checker cannot check a Protocol: leave out the decorator{name} (@typed); the "
        "grader itself checks all that comes back"
    )


def load_contract(root: Path) -> dict[str, Adapter]:
    """The adapters' contract, from `adapters.py` in `root`."""
    make_importable(root)
    return read_contract(importlib.import_module("adapters"))


def load_references(root: Path) -> dict[str, Callable[..., Any]]:
    """The references in `solutions/` by exercise; none where they are not handed out.

    Raises:
        BadAssignment: if they cannot be imported.
    """
    if not (root / "solutions").is_dir():
        return {}
    make_importable(root)
    with course_code("solutions/", root):
        solutions = importlib.import_module("solutions")
    return {name: value for name, value in vars(solutions).items() if is_adapter(name)}
