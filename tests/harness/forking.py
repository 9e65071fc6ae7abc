"""Code that tests run in a process of its own, which it may confine or ruin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


def in_a_fork(work: Callable[[], Any]) -> Any:
    """Returns what some code returns, or its exception as text, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
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
