"""Makes, where a submission is called, what tests want beside it, and looks at it afterwards.

Parameters, modules and optimizers of torch's own; files and folders in a folder of their own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import torch

from grader.core.wire.scripts import GIVEN, module_of

MAX_FILE = 32 << 20
MAX_ENTRIES = 10_000
# The step that hands a file on to who has nothing else.
ANEW = "anew"
# What is said in place of a file's content, or a folder's entries.
ABSENT, IRREGULAR, TOO_LARGE, TOO_MANY = "absent", "irregular", "too large", "too many"


class ScriptFiles:
    """Where one script's files lie, and what was opened of them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._removal: Callable[[], object] | None = None
        self._streams: list[IO[Any]] = []
        self._numbers = itertools.count()

    def make(self, name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Makes the thing that a step asks for by this name."""
        self.flush()
        return _MAKERS[name](self, *positional, **keywords)

    def new_place(self, name: str) -> Path:
        """Returns a path that nothing else of the script has, in a folder that exists."""
        if self._folder is None:
            # A job's temporary files go into its scratch folder, which outlives no killed job.
            self._folder = Path(tempfile.mkdtemp(prefix=GIVEN))
            self._removal = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        return folder / name

    def opened(self, stream: IO[Any]) -> IO[Any]:
        """Returns the same stream, which is flushed before its file is looked at."""
        self._streams.append(stream)
        return stream

    def flush(self) -> None:
        """Has what was written into streams arrive in their files."""
        for stream in self._streams:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()

    def close(self) -> None:
        """Removes what was made; what stands in the way stays."""
        for stream in self._streams:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        self._streams.clear()
        if self._removal is not None:
            self._removal()
        self._folder = self._removal = None


def _parameter(
    _shop: ScriptFiles, numbers: torch.Tensor, grad: torch.Tensor | None, requires_grad: bool
) -> torch.nn.Parameter:
    parameter = torch.nn.Parameter(numbers.clone(), requires_grad)
    parameter.grad = None if grad is None else grad.clone()
    return parameter


def _module(_shop: ScriptFiles, outline: Mapping[str, Any]) -> torch.nn.Module:
    return module_of(outline)


def _optimizer(
    _shop: ScriptFiles, name: str, parameters: Any, options: Mapping[str, Any]
) -> torch.optim.Optimizer:
    is_module = isinstance(parameters, torch.nn.Module)
    made: torch.optim.Optimizer = getattr(torch.optim, name)(
        parameters.parameters() if is_module else parameters, **options
    )
    return made


def _file(shop: ScriptFiles, name: str, content: bytes | None) -> Path:
    path = shop.new_place(name)
    if content is not None:
        path.write_bytes(content)
    return path


def _folder(shop: ScriptFiles, name: str, entries: Mapping[str, bytes]) -> Path:
    folder = shop.new_place(name)
    folder.mkdir()
    for own, content in entries.items():
        path = folder / own
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _within(_shop: ScriptFiles, folder: Path, name: str) -> Path:
    return folder / name


def _as_str(_shop: ScriptFiles, path: Path) -> str:
    return str(path)


def _as_stream(shop: ScriptFiles, path: Path) -> IO[bytes]:
    return shop.opened(path.open("r+b" if path.exists() else "w+b"))


def _as_text(shop: ScriptFiles, path: Path) -> IO[str]:
    return shop.opened(path.open(encoding="utf-8"))


def _anew(shop: ScriptFiles, path: Path, name: str) -> Path:
    copy = shop.new_place(name)
    content = _content(shop, path)
    if isinstance(content, bytes):
        copy.write_bytes(content)
    return copy


def _content(_shop: ScriptFiles, path: Path) -> bytes | str:
    """Returns the content of a file, or why there is none."""
    try:
        # Whatever took the file's place: no link is followed, and nobody is waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ABSENT
    except OSError:
        return IRREGULAR
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return IRREGULAR
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_FILE + 1)
    return content if len(content) <= MAX_FILE else TOO_LARGE


def _exists(_shop: ScriptFiles, path: Path) -> bool:
    return os.path.lexists(path)


def _entries(_shop: ScriptFiles, folder: Path) -> list[str] | str:
    """Returns the files below a folder, or a word that says why they cannot be listed."""
    if not folder.is_dir() or folder.is_symlink():
        return ABSENT if not os.path.lexists(folder) else IRREGULAR
    found = list(itertools.islice(_below(str(folder)), MAX_ENTRIES + 1))
    if len(found) > MAX_ENTRIES:
        return TOO_MANY
    return sorted(Path(path).relative_to(folder).as_posix() for path in found if path)


def _below(folder: str) -> Iterator[str]:
    """Yields the paths of what lies below a folder; of each folder in it an empty text."""
    left = [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(entry.path)
                    yield ""
                else:
                    yield entry.path


_MAKERS: Mapping[str, Callable[..., Any]] = {
    "parameter": _parameter,
    "module": _module,
    "optimizer": _optimizer,
    "file": _file,
    "folder": _folder,
    "within": _within,
    "as_str": _as_str,
    "as_stream": _as_stream,
    "as_text": _as_text,
    ANEW: _anew,
    "content": _content,
    "exists": _exists,
    "entries": _entries,
}
