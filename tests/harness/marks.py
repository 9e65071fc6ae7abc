"""The marks of this project's own tests, and the check that each of them is true.

Each test has one mark, on itself or on its module. The nearest counts, and `slow` on a parameter
always wins. `--kind unit` runs the tests of one kind. `-m unit` would also run tests whose own mark
differs from their module's.

- `unit`: starts no process. `make quick` runs these.
- `process`: starts processes, or looks at what they left. `make test` runs these and the units. A
  test that starts none and takes a second of a processor (with all its parameters) has
  `process(takes="a second")`, so that `make quick` stays quick.
- `slow`: claims over all of a kind what another test of its module claims over some. `make sweep`
  runs these.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Collection, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

KINDS = {
    "unit": "starts no process",
    "process": "starts processes, or looks at what they left",
    "slow": "claims over all of a kind what another test of its module claims over some",
}
# A module with a test of a kind contains one of these texts.
_SAID = {
    "unit": ("mark.unit",),
    "process": ("mark.process", "rest_long"),
    "slow": ("mark.slow", "rest_slow"),
}
# `warm.py` raises the last event, because a forked process counts too.
_STARTS = ("os.fork", "os.posix_spawn", "subprocess.Popen", "tests.forked")


def kind_of(item: pytest.Item) -> str | None:
    """Returns the one mark of a test that counts."""
    names = [mark.name for mark in item.iter_markers() if mark.name in KINDS]
    return "slow" if "slow" in names else next(iter(names), None)


def _takes_long(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("process")
    return mark is not None and "takes" in mark.kwargs


def rest_slow(
    values: Iterable[Any], sooner: int | Collection[Any], *, rows: bool = False
) -> list[Any]:
    """Marks parameters as slow, except those that `sooner` keeps quick.

    `sooner` holds these values, or is a number n that keeps the first of every n values. If the
    values are `rows`, each holds one value per parameter.
    """
    return _rest(pytest.mark.slow, values, sooner, rows)


def rest_long(values: Iterable[Any], sooner: int, *, rows: bool = False) -> list[Any]:
    """Leaves parameters of a unit test out of `make quick`, except the first of every `sooner`.

    If the values are `rows`, each holds one value per parameter.
    """
    return _rest(pytest.mark.process(takes="a second"), values, sooner, rows)


def _rest(
    mark: pytest.MarkDecorator, values: Iterable[Any], sooner: int | Collection[Any], rows: bool
) -> list[Any]:
    return [
        value
        if (number % sooner == 0 if isinstance(sooner, int) else value in sooner)
        else pytest.param(*(value if rows else (value,)), marks=mark)
        for number, value in enumerate(values)
    ]


def asked_for(request: pytest.FixtureRequest, name: str) -> list[Any]:
    """Returns the values of a parameter in those tests of this module that will run."""
    chosen = [
        item.callspec.params[name]
        for item in request.session.items
        if item.path == request.path and name in getattr(item, "callspec", _NoParameters).params
    ]
    return list(dict.fromkeys(chosen))


class _NoParameters:
    params: Mapping[str, Any] = {}


class Marks:
    """A plugin that refuses tests without a mark and fails those whose mark is false."""

    def __init__(self) -> None:
        self._starts: list[str] = []
        self._before = 0
        self._starting: set[pytest.FixtureDef[Any]] = set()
        sys.addaudithook(self._hear)

    def pytest_configure(self, config: pytest.Config) -> None:
        """Declares the marks."""
        for name, meaning in KINDS.items():
            config.addinivalue_line("markers", f"{name}: {meaning}")

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Skips the import of modules whose kinds were all deselected."""
        wanted = config.getoption("--kind")
        if not wanted or collection_path.suffix != ".py":
            return None
        text = collection_path.read_text(encoding="utf-8")
        there = {kind for kind in KINDS if any(said in text for said in _SAID[kind])}
        return True if there and there.isdisjoint(wanted) else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Refuses tests without a mark, and modules with slow tests only.

        Deselects the kinds that were not asked for.
        """
        unmarked = {item.path.name for item in items if kind_of(item) is None}
        if unmarked:
            raise pytest.UsageError(f"mark the tests of {_listed(unmarked)}: {_listed(KINDS)}")
        quicker = {item.path for item in items if kind_of(item) != "slow"}
        alone = {item.path.name for item in items if item.path not in quicker}
        if alone and not any("::" in argument for argument in config.args):
            raise pytest.UsageError(f"{_listed(alone)} has slow tests only")
        if wanted := config.getoption("--kind"):
            out = [item for item in items if kind_of(item) not in wanted]
            items[:] = [item for item in items if kind_of(item) in wanted]
            config.hook.pytest_deselected(items=out)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Remembers fixtures that start a process: a test that uses one counts as starting it."""
        before = len(self._starts)
        try:
            return (yield)
        finally:
            if len(self._starts) > before:
                self._starting.add(fixturedef)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Remembers the number of processes before a test."""
        self._before = len(self._starts)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Fails a passed test if its mark is false."""
        report = yield
        if call.when == "call" and report.passed and (why := self._false(item)):
            report.outcome, report.longrepr = "failed", why
        return report

    def _false(self, item: pytest.Item) -> str | None:
        started = self._starts[self._before :]
        # This includes fixtures that the test requested by name while it ran.
        active = getattr(item, "_request")._fixture_defs.values()  # noqa: B009 (pytest's own)
        used = [one.argname for one in active if one in self._starting]
        kind = kind_of(item)
        if kind == "unit" and (started or used):
            return f"it is marked unit and starts a process: {_listed([*started, *used])}"
        if kind == "process" and not started and not used and not _takes_long(item):
            return "it is marked process and starts none: mark it unit"
        return None

    def _hear(self, event: str, details: tuple[Any, ...]) -> None:
        if event in _STARTS:
            self._starts.append(f"{event} {details[0] if details else ''}".strip())


class Budget:
    """A plugin that starts no test after its budget of seconds, and shuffles the modules."""

    def __init__(self, seconds: float, draw: str) -> None:
        self._end = time.monotonic() + seconds
        self._draw = draw

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Shuffles modules, so that each gets its turn over many runs."""
        paths = sorted({item.path for item in items})
        random.Random(self._draw).shuffle(paths)
        items.sort(key=lambda item: paths.index(item.path))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Skips the remaining tests."""
        if time.monotonic() > self._end:
            pytest.skip("the budget of seconds is spent")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(map(str, names)))
