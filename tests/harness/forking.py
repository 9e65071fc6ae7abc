"""Code that tests run in a process of its own, which it may confine or ruin."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch


def in_a_fork(work: Callable[[], Any]) -> Any:
    """Returns what some code returns, or its exception as text, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # OpenMP's threads stay in the parent: a large tensor would wait for them forever.
        torch.set_num_threads(1)
        try:
            result = work()
        except BaseException as error:
            result = repr(error)
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return json.loads(said)


@contextlib.contextmanager
def folder_for_everybody() -> Iterator[Path]:
    """Provides a folder that every user may enter."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def refusal(use: Callable[[], object]) -> str:
    """Returns the name of the exception that a use raises, or an empty text."""
    try:
        use()
    except Exception as error:
        return type(error).__name__
    return ""
