"""Files of a submission that end before their ends: `exit()`, a question that nobody answers.

At home they do no harm as the last line of a script. What stands before is kept.
"""

from __future__ import annotations

import importlib.machinery
import linecache
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.worker.own_files import own_file

_LONGEST = 60
# What Python says where `input()` meets the end of the input, and nothing else does.
_NOBODY_ANSWERS = "EOF when reading a line"


class Endings:
    """The imports that ended early: `ended` has what they raised, `places` the lines in words."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.ended: list[BaseException] = []

    @property
    def places(self) -> tuple[str, ...]:
        """What was not run, with the line that ended it."""
        return tuple(dict.fromkeys(map(self._place, self.ended)))

    def are_ends(self) -> None:
        """Has files of the submission keep what they defined when they exit, or ask for input."""
        execute = importlib.machinery.SourceFileLoader.exec_module

        def exec_module(loader: importlib.machinery.SourceFileLoader, module: ModuleType) -> None:
            try:
                execute(loader, module)
            except (SystemExit, EOFError) as ended:
                is_end = isinstance(ended, SystemExit) or ended.args == (_NOBODY_ANSWERS,)
                if not is_end or own_file(str(module.__file__), self._root) is None:
                    raise
                self.ended.append(ended)

        loader_kind: Any = importlib.machinery.SourceFileLoader
        loader_kind.exec_module = exec_module

    def _place(self, ended: BaseException) -> str:
        own = [
            (file, frame.lineno or 0, frame.filename)
            for frame in traceback.extract_tb(ended.__traceback__)
            if (file := own_file(frame.filename, self._root)) is not None
        ]
        if not own:
            return "what follows an exit"
        file, line, path = own[-1]
        source = linecache.getline(path, line).strip()[:_LONGEST]
        return f"what follows {source} ({file}, line {line})"
