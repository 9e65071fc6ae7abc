"""Files as one compressed tar in memory."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Sequence
from types import TracebackType
from typing import Self


class Bundle:
    """A tar that is being made; a context manager, after which `content` holds its bytes.

    What it holds of a file is its path and its bytes.
    """

    def __init__(self) -> None:
        self._buffer = io.BytesIO()
        # Source code shrinks to a third at the lowest level, and the higher ones cost far more.
        self._tar = tarfile.open(  # noqa: SIM115  # closed on leaving this one
            fileobj=self._buffer,
            mode="w:gz",
            compresslevel=1,
            format=tarfile.GNU_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tar.close()

    @property
    def content(self) -> bytes:
        """The bytes of the tar, once it is whole."""
        return self._buffer.getvalue()

    def add(self, parts: Sequence[str], content: bytes) -> None:
        """Adds a file under a path of folders and a name."""
        member = tarfile.TarInfo("/".join(parts))
        member.size = len(content)
        self._tar.addfile(member, io.BytesIO(content))
