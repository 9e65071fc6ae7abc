"""Cases: the drawn inputs and expected outputs of one test, in the order in which it asks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from grader.core.wire.values import Value, mapped

# What students have at home is drawn with it, and no batch is graded with it.
HOME_SEED = 0

Expected = Mapping[str, Value]

_SUMMANDS = 12
# Their sums stay below 2 ** 24, up to which float32 holds every whole number.
_STEPS = 2**20


class CaseExhausted(Exception):
    """A test asks for more than was frozen for it."""


@dataclass(slots=True)
class Case:
    """The inputs and expected values of one test, remembered at first and played back ever after.

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
    """Returns a value whose tensors have no history."""
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
