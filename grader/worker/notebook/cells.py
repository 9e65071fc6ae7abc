"""Runs the cells of a notebook in order; an error in one does not keep the others from running."""

from __future__ import annotations
import __future__ as futures

import ast
import asyncio
import functools
import inspect
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from grader.worker.trials.alarm import Alarm, TooLong

_ADAPTER = re.compile(r"^(?:async +)?def +(run_\w+)|^(run_\w+) *(?::[^=\n]*)?=(?!=)", re.MULTILINE)
# So many times as long may a cell take that does nothing.
_WAITING = 2
_NUMBER = re.compile(r"\d+")


class TookTooLong(Exception):
    """A cell was ended, so that what the others define is graded."""


class Cells:
    """Runs cells; `seconds` are what all of them may take together.

    Each may take half of what is left, so that none uses up the others' time. `failed` has what
    they raised, by their places; `current` is the place of the cell that runs now.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._is_timed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self.failed: dict[str, BaseException] = {}
        self.current = ""

    def run(self, namespace: dict[str, Any], notebook: Path) -> None:
        """Runs all cells of the notebook in that folder.

        Raises:
            BaseException: what the first cell raised that did, if no adapter is defined.
        """
        flags = 0
        failed: dict[Path, BaseException] = {}
        for cell in sorted(notebook.iterdir(), key=_number):
            place, earlier = f"{notebook.name}/{cell.name}", self.current
            self.current = place
            try:
                code = _compiled(cell, flags)
                # A future import holds for the later cells too, as in a notebook.
                flags |= code.co_flags & futures.annotations.compiler_flag
                self._timed(functools.partial(eval, code, namespace))
            except (Exception, SystemExit) as error:
                failed[cell] = self.failed[place] = error
            finally:
                self.current = earlier
        if failed and not any(name.startswith("run_") for name in namespace):
            raise next(iter(failed.values()))
        for cell, raised in failed.items():
            for name in _adapters(cell):
                namespace.setdefault(name, _undefined(name, cell.name, raised))

    def _timed(self, run: Callable[[], Any]) -> None:
        """Runs a cell, no longer than it may take; one within another cell is part of that."""
        if self._is_timed:
            self._finish(run())
            return
        alarm, seconds, self._is_timed = Alarm(_WAITING), self._left / 2, True
        computed, began = time.process_time(), time.monotonic()
        try:
            with alarm.held():
                alarm.set(seconds)
                self._finish(run())
        except TooLong as ended:
            said = f"it took longer than {seconds:.3g} seconds and was ended"
            raise TookTooLong(said).with_traceback(ended.__traceback__) from None
        finally:
            self._is_timed = False
            waited = (time.monotonic() - began) / _WAITING
            self._left -= min(max(time.process_time() - computed, waited), seconds)

    def _finish(self, result: Any) -> None:
        """Awaits what a cell with an `await` of its own comes to."""
        if inspect.iscoroutine(result):
            self._loop = self._loop or asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(result)


def _compiled(cell: Path, flags: int) -> CodeType:
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    # As text: a cell declares no encoding, and what is shown of it is what runs.
    code: CodeType = compile(cell.read_text("utf-8"), str(cell), "exec", flags, dont_inherit=True)
    return code


def _number(cell: Path) -> int:
    found = _NUMBER.search(cell.name)
    return int(found[0]) if found else 0


def _adapters(cell: Path) -> list[str]:
    """Returns the adapters that a cell would have defined."""
    source = cell.read_text("utf-8", "replace")
    return sorted({one or other for one, other in _ADAPTER.findall(source)})


def _undefined(name: str, cell: str, error: BaseException) -> Callable[..., None]:
    """An adapter whose cell raised before it was defined, and that says so when it is called."""

    def adapter(*_args: object, **_options: object) -> None:
        if isinstance(error, SyntaxError):
            place = (error.filename, error.lineno, error.offset, error.text)
            raise SyntaxError(f"{error.msg}, so {name} is not defined", place)
        reason = f"{cell} raised {type(error).__name__}: {error}, so {name} is not defined"
        raise NameError(reason).with_traceback(error.__traceback__)

    return adapter
