"""Frozen fixture tensors: what public tests need at home in place of references and mistakes."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from grader.core.verdict import Diagnosis
from grader.core.wire.frames import decode, encode, receive
from grader.core.wire.values import Value
from grader.testing.cases import HOME_SEED, Case, fresh_case
from grader.worker.calls.marshalling import portable

SEED = HOME_SEED

FIXTURES = "fixtures"

# A mistake is told from others by a few numbers of its answer.
SAMPLE = 32
# One row (see `predictions`) for the reference and each variant of each mistake, in the order of
# the module's `mistakes`, by the number of the call in its test. Rows that are not there were not
# computed.
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
    says of them. `wrong_steps` are, by exercise and mistake, the steps that it always gets wrong.
    """

    tests: Mapping[str, FrozenTest]
    mistakes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    diagnoses: Mapping[str, Diagnosis] = field(default_factory=dict)
    dropped_from: Mapping[str, str] = field(default_factory=dict)
    ignored_by: Mapping[str, Collection[str]] = field(default_factory=dict)
    echoed_in: Mapping[str, Collection[str]] = field(default_factory=dict)
    wrong_steps: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)


def fixture_file(test_module: Path) -> Path:
    """Returns the file with the fixture tensors of a module of tests."""
    return test_module.parent / FIXTURES / f"{test_module.stem}.safetensors"


def freeze(file: Path, module: FrozenModule) -> None:
    """Writes what a module's tests need."""
    tensors: dict[str, torch.Tensor] = {}
    for name, test in module.tests.items():
        for number, drawn in enumerate(test.case.drawn):
            tensors[f"{name}/drawn/{number}"] = drawn
        for number, outputs in enumerate(test.case.expected):
            for output, value in outputs.items():
                kind = "expected" if isinstance(value, torch.Tensor) else "value"
                tensors[f"{name}/{kind}/{number}/{output}"] = _as_bytes(value)
        for call, answers in test.answers.items():
            tensors[f"{name}/answer/{call}/"] = answers
        tensors |= {f"{name}/steps/{key}": tensor for key, tensor in _keyed_steps(test.steps)}
    metadata = {
        "points": {name: test.points for name, test in module.tests.items()},
        "mistakes": {exercise: list(names) for exercise, names in module.mistakes.items()},
        "diagnoses": {name: asdict(diagnosis) for name, diagnosis in module.diagnoses.items()},
        "dropped_from": dict(module.dropped_from),
        "ignored_by": {name: list(ignored) for name, ignored in module.ignored_by.items()},
        "echoed_in": {name: list(exercises) for name, exercises in module.echoed_in.items()},
        "wrong_steps": {
            exercise: {name: sorted(steps) for name, steps in by_mistake.items()}
            for exercise, by_mistake in module.wrong_steps.items()
        },
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()},
        file,
        metadata={"module": json.dumps(metadata)},
    )
    file.chmod(0o644)  # safetensors keeps what it writes to its owner


def thaw(file: Path) -> FrozenModule:
    """Reads the file that `freeze` wrote; returns no tests if there is no such file."""
    if not file.is_file():
        return FrozenModule({})
    with safe_open(file, framework="pt") as stored:
        metadata = json.loads(stored.metadata()["module"])
        frozen = {name: FrozenTest(Case(None), worth) for name, worth in metadata["points"].items()}
        for key in sorted(stored.keys(), key=_parts):
            _add(frozen, key, stored.get_tensor(key))
    diagnoses = {name: Diagnosis(**texts) for name, texts in metadata["diagnoses"].items()}
    return FrozenModule(
        frozen,
        metadata["mistakes"],
        diagnoses,
        metadata["dropped_from"],
        metadata["ignored_by"],
        metadata["echoed_in"],
        metadata["wrong_steps"],
    )


def remove_frozen(folder: Path) -> None:
    """Removes the files in a folder that `freeze` wrote; whatever else lies there stays."""
    for file in folder.glob("*.safetensors"):
        if _is_frozen(file):
            file.unlink()


def _is_frozen(file: Path) -> bool:
    try:
        with safe_open(file, framework="pt") as stored:
            metadata = json.loads(stored.metadata()["module"])
            return isinstance(metadata, dict) and {"points", "dropped_from"} <= metadata.keys()
    except (OSError, SafetensorError, TypeError, KeyError, ValueError):
        return False


def _add(frozen: Mapping[str, FrozenTest], key: str, tensor: torch.Tensor) -> None:
    name, kind, number, rest = _parts(key)
    test = frozen[name]
    if kind == "drawn":
        test.case.drawn.append(tensor)
    elif kind == "answer":
        test.answers[number] = tensor
    elif kind == "steps":
        _, step = rest.split("/", 1)
        test.steps.setdefault(number, {}).setdefault(step, []).append(tensor)
    else:
        while len(test.case.expected) <= number:
            test.case.expected.append({})
        value = tensor if kind == "expected" else _of_bytes(tensor)
        test.case.expected[number] = {**test.case.expected[number], rest: value}


def _keyed_steps(frozen: FrozenSteps) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the tensors of steps, under keys that sort as the steps follow each other."""
    for call, steps in frozen.items():
        forms = ((name, form) for name, forms in steps.items() for form in forms)
        for place, (name, form) in enumerate(forms):
            yield f"{call}/{place:03}/{name}", form.to(torch.float32)


def _as_bytes(value: Value) -> torch.Tensor:
    """Returns a tensor as it is; of another value the frame that it would cross in."""
    if isinstance(value, torch.Tensor):
        return value
    return torch.frombuffer(bytearray(encode({}, {"": portable(value)})), dtype=torch.uint8)


def _of_bytes(frame: torch.Tensor) -> Value:
    stream = io.BytesIO(frame.numpy().tobytes())
    _, values = decode(receive(lambda size: bytearray(stream.read(size))), trusted=True)
    return values[""]


def _parts(key: str) -> tuple[str, str, int, str]:
    for kind in ("drawn", "expected", "value", "answer", "steps"):
        name, found, rest = key.rpartition(f"/{kind}/")
        if found:
            number, _, output = rest.partition("/")
            return name, kind, int(number), output
    raise ValueError(f"{key!r} is not a key of a fixture")


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
            module, _, name = test_id.partition("::")
            frozen = self.module(module).tests.get(name)
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
        modules = [self.module(f"{folder}/{file.stem}.py") for file in files if _is_frozen(file)]
        return sum(test.points for module in modules for test in module.tests.values())

    def points(self, test_id: str) -> float:
        """Returns the points that a test carries, if it was frozen."""
        module, _, name = test_id.partition("::")
        frozen = self.module(module).tests.get(name)
        return 0.0 if frozen is None else frozen.points
