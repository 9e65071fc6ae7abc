"""The command `grader` in the test's own process, for commands that start none."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from grader.cli import main


def grader_here(
    *arguments: object, cwd: Path | None = None, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """Runs a command in this process and returns its output, as of a terminal of 100 columns."""
    words = ["grader", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding, newline="") for _ in range(2))
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(mock.patch.object(sys, "argv", words))
        stack.enter_context(mock.patch.object(sys, "path", [*sys.path]))
        stack.enter_context(mock.patch.dict(os.environ, {"COLUMNS": "100"}))
        if cwd is not None:
            stack.enter_context(contextlib.chdir(cwd))
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        else:
            code = 0
    return subprocess.CompletedProcess(words, code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    content = stream.buffer
    assert isinstance(content, io.BytesIO)
    return content.getvalue().decode(stream.encoding)
