"""What was said of a submission is said again of one that is the very same, to the last byte."""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.submission import Submission
from grader.words import Words

_MOST = 64
_MOST_BYTES = 8 << 20


class RepeatedWords:
    """The words for the latest submissions, by what these hold and how their tests ended."""

    def __init__(self) -> None:
        self._words: OrderedDict[bytes, Words] = OrderedDict()

    def of(self, key: bytes | None) -> Words | None:
        """What was said of the same before."""
        return None if key is None else self._words.get(key)

    def learn(self, key: bytes | None, words: Words) -> None:
        """Remembers words that are whole."""
        if key is None or words.missing is not None:
            return
        self._words[key] = words
        while len(self._words) > _MOST:
            self._words.popitem(last=False)


def content_of(submission: Submission, job: Mapping[str, Any]) -> bytes | None:
    """What the words for a submission follow from; nothing if it is too large to be compared."""
    told = {name: value for name, value in job.items() if name != "entry"}
    place = (submission.module, submission.import_paths, submission.adapters)
    digest = hashlib.sha256(json.dumps([told, place], sort_keys=True, default=str).encode())
    left = _MOST_BYTES
    try:
        for folder, folders, files in os.walk(submission.root):
            folders.sort()
            for name in sorted(files):
                path = Path(folder, name)
                size = path.stat().st_size
                left -= size
                if left < 0:
                    return None
                digest.update(os.fsencode(path.relative_to(submission.root)))
                digest.update(f"\0{size}\0".encode())
                digest.update(path.read_bytes())
    except OSError:
        return None
    return digest.digest()
