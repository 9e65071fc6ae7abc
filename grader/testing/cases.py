"""Cases: the drawn inputs and expected outputs of one test, in the order in which it asks.

At home, frozen fixture tensors replace the references and the known mistakes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from grader.core.verdict import Diagnosis
from grader.core.wire.frames import decode, encode, received
from grader.core.wire.records import written
from grader.core.wire.values import Value, mapped
from grader.worker.marshalling import portable

# The seed of the tests at home; no batch is graded with it.
SEED = 0

Expected = Mapping[str, Value]

_SUMMANDS = 12
# Their sums stay below 2 ** 24, up to which float32 holds every whole number.
_STEPS = 2**20


class CaseExhausted(Exception):
    """A test asks for more than was frozen for it."""


@dataclass(slots=True)
class Case:
    """The inputs and expected values of one test, recorded the first time and replayed later.

    Fresh inputs come from `generator`; a case without one was frozen and only plays back. Every
    submission of a batch thereby gets the same inputs, and references are computed once.
    """

    generator: torch.Generator | None
    drawn: list[torch.Tensor] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    _next_drawn: int = 0
    _next_expected: int = 0

    def rewind(self) -> Case:
        """Returns the case as a test must find it when it starts."""
        self._next_drawn = self._next_expected = 0
        return self

    def branch(self) -> Case:
        """Returns a copy that draws as this case would, without changing it."""
        generator = self.generator and self.generator.clone_state()
        return Case(generator, [*self.drawn], [*self.expected])

    def draw(self, make: Callable[[torch.Generator], torch.Tensor]) -> torch.Tensor:
        """Returns the next drawn input; a copy, since a test may write into it.

        Raises:
            CaseExhausted: if the case was frozen and holds no more.
        """
        if self._next_drawn == len(self.drawn):
            if self.generator is None:
                raise CaseExhausted
            self.drawn.append(make(self.generator))
        self._next_drawn += 1
        return self.drawn[self._next_drawn - 1].clone()

    def expect(self, compute: Callable[[], Expected]) -> dict[str, Value]:
        """Returns the next expected outputs, by name.

        Raises:
            CaseExhausted: if the case was frozen and holds no more.
        """
        if self._next_expected == len(self.expected):
            if self.generator is None:
                raise CaseExhausted
            self.expected.append({name: _detached(value) for name, value in compute().items()})
        self._next_expected += 1
        return dict(self.expected[self._next_expected - 1])


def fresh_case(seed: int, test_id: str) -> Case:
    """Returns a case whose inputs follow from a batch's seed and the test's id alone."""
    return Case(torch.Generator().manual_seed(seed_of(seed, test_id)))


def _detached(value: Value) -> Value:
    detached: Value = mapped(value, lambda one: one.detach() if torch.is_tensor(one) else one)
    return detached


def seed_of(seed: int, test_id: str) -> int:
    """Returns the seed of one test in a batch."""
    digest = hashlib.sha256(f"{seed}:{test_id}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


class Draw:
    """Draws a test's inputs: fresh for every batch, frozen at home."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def __call__(
        self, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0
    ) -> torch.Tensor:
        """Draws independent, nearly normal numbers of mean 0 and standard deviation `scale`.

        None is farther than 6 standard deviations from 0, and every processor draws the same.
        """
        return self._case.draw(lambda g: _nearly_normal(shape, g).mul(scale).to(dtype))

    def uniform(self, *shape: int) -> torch.Tensor:
        """Returns independent uniform numbers in [0, 1)."""
        return self._case.draw(lambda g: torch.rand(shape, generator=g))

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        """Returns independent integers from `low` up to, but without, `high`."""
        return self._case.draw(lambda g: torch.randint(low, high, shape, generator=g))

    def permutation(self, size: int) -> torch.Tensor:
        """Returns the integers below `size`, shuffled."""
        return self._case.draw(lambda g: torch.randperm(size, generator=g))

    def text(self, size: int, alphabet: str) -> str:
        """Returns a text of `size` independent characters of an alphabet."""
        return "".join(alphabet[place] for place in self.integers(0, len(alphabet), size).tolist())

    def module(self, module: torch.nn.Module, scale: float = 0.5) -> torch.nn.Module:
        """Replaces a module's parameters by drawn numbers, as torch's own follow another seed.

        A test that makes a module would begin with other numbers in each process.
        """
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(self(*parameter.shape, scale=scale))
        return module

    def mask(self, *shape: int, keep: float = 0.6) -> torch.Tensor:
        """Returns a boolean mask, True with probability `keep` and at least once in every row."""

        def make(generator: torch.Generator) -> torch.Tensor:
            chance = torch.rand(shape, generator=generator)
            return (chance < keep) | (chance == chance.amin(-1, keepdim=True))

        return self._case.draw(make)


def _nearly_normal(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Sums of twelve uniform numbers, whose variances of 1/12 add up to 1.

    Whole numbers are drawn, and what follows is exact: `torch.randn` takes logarithms and cosines,
    which differ in the last bit from processor to processor.
    """
    uniform = torch.randint(0, _STEPS, (_SUMMANDS, *shape), generator=generator)
    centred = uniform.sum(0) - _SUMMANDS * (_STEPS - 1) // 2
    return centred.to(torch.float32) / _STEPS


FIXTURES = "fixtures"
# The rules and the words by which lines are found at home.
SLIPS = "slips.json"

# A mistake is told from others by a few numbers of its answer.
SAMPLE = 32
# Rows by the number of the call in its test. Each call has one row (see `predictions`) for the
# reference, and one for each variant of each mistake, in the order of the module's `mistakes`. Rows
# that are not there were not computed.
Answers = dict[int, torch.Tensor]
# The steps of the reference, by the number of the call.
FrozenSteps = dict[int, dict[str, list[torch.Tensor]]]


def sample(answer: torch.Tensor) -> torch.Tensor:
    """Returns a few numbers of an answer, evenly spread; those of a small one several times."""
    flat = answer.detach().to(torch.float64).reshape(-1)
    places = torch.linspace(0, max(flat.numel() - 1, 0), SAMPLE).round().long()
    return flat[places] if flat.numel() else torch.zeros(SAMPLE, dtype=torch.float64)


@dataclass(frozen=True, slots=True)
class FrozenTest:
    """One test's frozen case, the points that it carries, and what would be answered and done."""

    case: Case
    points: float
    answers: Answers = field(default_factory=dict)
    steps: FrozenSteps = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FrozenModule:
    """The frozen tests of a module by name, and the mistakes that its exercises know.

    `mistakes` holds the name of the mistake in each row of answers, by exercise; the first, empty
    one is the reference. `dropped_from`, `ignored_by` and `echoed_in` are what the mistakes' author
    says of them. `fixed_steps` are, by exercise, the steps that do not depend on numbers in the
    inputs.
    """

    tests: Mapping[str, FrozenTest]
    mistakes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    diagnoses: Mapping[str, Diagnosis] = field(default_factory=dict)
    dropped_from: Mapping[str, str] = field(default_factory=dict)
    ignored_by: Mapping[str, Collection[str]] = field(default_factory=dict)
    echoed_in: Mapping[str, Collection[str]] = field(default_factory=dict)
    fixed_steps: Mapping[str, Collection[str]] = field(default_factory=dict)


def fixture_file(test_module: Path) -> Path:
    """Returns the file with the fixture tensors of a module of tests."""
    return test_module.parent / FIXTURES / f"{test_module.stem}.safetensors"


def freeze(file: Path, module: FrozenModule) -> None:
    """Writes what a module's tests need."""
    points = {name: test.points for name, test in module.tests.items()}
    metadata = {"points": points} | written(replace(module, tests={}))
    del metadata["tests"]
    frames = {name: encode({}, content_of(test)) for name, test in module.tests.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file(
        {n: torch.frombuffer(bytearray(one), dtype=torch.uint8) for n, one in frames.items()},
        file,
        metadata={"module": json.dumps(metadata)},
    )
    file.chmod(0o644)  # safetensors keeps what it writes to its owner


def content_of(test: FrozenTest) -> dict[str, Any]:
    """Returns all that is frozen of a test except its points, in the form in which it crosses."""
    expected = [
        {name: portable(value) for name, value in outputs.items()} for outputs in test.case.expected
    ]
    return {
        "drawn": test.case.drawn,
        "expected": expected,
        "answers": test.answers,
        "steps": mapped(test.steps, lambda form: form.to(torch.float32)),
    }


def thaw(file: Path) -> FrozenModule:
    """Reads the file that `freeze` wrote; returns no tests if there is no such file."""
    if not file.is_file():
        return FrozenModule({})
    with safe_open(file, framework="pt") as stored:
        metadata = json.loads(stored.metadata()["module"])
        points = metadata.pop("points")
        tests = {name: _test_of(stored.get_tensor(name), points[name]) for name in points}
    diagnoses = {name: Diagnosis(**texts) for name, texts in metadata["diagnoses"].items()}
    return FrozenModule(tests, **metadata | {"diagnoses": diagnoses})


def _test_of(frame: torch.Tensor, points: float) -> FrozenTest:
    content: dict[str, Any] = decode(received(frame.numpy().tobytes()), trusted=True)[1]
    case = Case(None, content["drawn"], content["expected"])
    return FrozenTest(case, points, content["answers"], content["steps"])


def remove_frozen(folder: Path) -> None:
    """Removes the files in a folder that `freeze` wrote; whatever else lies there stays."""
    for file in folder.glob("*.safetensors"):
        if is_frozen(file):
            file.unlink()
    (folder / SLIPS).unlink(missing_ok=True)


def is_frozen(file: Path) -> bool:
    """Returns whether `freeze` wrote a file."""
    try:
        with safe_open(file, framework="pt") as stored:
            metadata = json.loads(stored.metadata()["module"])
            return "dropped_from" in metadata and {*metadata["points"]} == {*stored.keys()}
    except (OSError, SafetensorError, TypeError, KeyError, ValueError):
        return False


class HomeCases:
    """Frozen cases where there are some, fresh ones where references can answer."""

    def __init__(self, root: Path, fresh: bool) -> None:
        self._root = root
        self._fresh = fresh
        self._cases: dict[str, Case] = {}
        self._modules: dict[str, FrozenModule] = {}

    def __call__(self, test_id: str) -> Case:
        """Returns the case of a test, by its id."""
        if test_id not in self._cases:
            frozen = self._frozen(test_id)
            fresh = fresh_case(SEED, test_id) if self._fresh else Case(None)
            self._cases[test_id] = fresh if frozen is None else frozen.case
        return self._cases[test_id]

    def module(self, path: str) -> FrozenModule:
        """Returns the frozen cases of a module of tests, by the module's path below the root."""
        if path not in self._modules:
            self._modules[path] = thaw(fixture_file(self._root / path))
        return self._modules[path]

    def all_points(self, folder: str) -> float:
        """Returns the points that all frozen tests of a folder of tests carry."""
        files = sorted((self._root / folder / FIXTURES).glob("*.safetensors"))
        modules = [self.module(f"{folder}/{file.stem}.py") for file in files if is_frozen(file)]
        return sum(test.points for module in modules for test in module.tests.values())

    def points(self, test_id: str) -> float:
        """Returns the points that a test carries, if it was frozen."""
        frozen = self._frozen(test_id)
        return 0.0 if frozen is None else frozen.points

    def _frozen(self, test_id: str) -> FrozenTest | None:
        module, _, name = test_id.partition("::")
        return self.module(module).tests.get(name)
