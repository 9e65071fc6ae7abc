"""The processor time that one explanation takes."""

from __future__ import annotations

import time

from grader.sandbox.session import Session


class OwnTime:
    """A clock that counts the seconds of this process, and of the workers that it waits for.

    It stands still while the machine is busy with something else.
    """

    def __init__(self) -> None:
        self._session: Session | None = None

    def follow(self, session: Session) -> None:
        """Counts the workers of a session from now on."""
        self._session = session

    def __call__(self) -> float:
        """Returns the seconds so far, from an unknown beginning on."""
        of_workers = 0.0 if self._session is None else self._session.spent
        return time.process_time() + of_workers
