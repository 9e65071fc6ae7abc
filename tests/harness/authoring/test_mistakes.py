"""The catalogue of known mistakes: each is caught, differs from the others, and reads well."""

from __future__ import annotations

import inspect
import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import adapters
import solutions
from grader.core.assignment import find_assignment
from grader.core.verdict import Aspect, Status
from grader.core.wire.calls import Answer, Call, Record
from grader.core.wire.records import Line
from grader.explain.step_comparison import steps_seen
from grader.grading.judge.judge import Judge
from grader.home.bench import DirectCalls
from grader.testing.comparison import FLOAT32, compare
from grader.testing.handles.handle import in_float64
from grader.testing.suite import Suite
from grader.worker.performing import absent
from solutions.answers import named_steps
from solutions.mistakes import HABITS, MISTAKES, combined
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
AGREED = {
    *("no-scale", "scale-by-d_k", "scale-inverted", "scale-by-d_model", "qk-swapped", "kv-swapped"),
    *("softmax-over-queries", "softmax-unstable"),
    *("mask-inverted", "mask-ignored", "mask-added", "mask-zero-fill", "mask-after-softmax"),
    *("causal-missing", "causal-reversed", "causal-sees-next", "causal-hides-self"),
    *("heads-split-without-transpose", "heads-merge-without-transpose", "heads-interleaved"),
    *("single-head", "heads-share-weights", "weights-not-loaded"),
    *("output-projection-missing", "projection-transposed", "output-projection-transposed"),
    *("rope-half-split", "rope-reversed", "rope-frequency", "rope-cos-sin-swapped"),
    *("rope-positions-from-one", "rope-positions-ignored", "rope-theta-ignored"),
    *("rope-on-values", "rope-on-queries-only", "rope-missing", "mha-positions-ignored"),
    *("positional-frequency", "positional-sin-cos-swapped"),
    *("dropout-unscaled", "dropout-in-eval"),
}
# Scores depend only on differences of angles. Negative angles and 90 degrees minus the angles
# therefore give equal scores.
ALIKE = {
    ("run_multihead_self_attention_with_rope", "rope-reversed", "rope-cos-sin-swapped"),
}
# Other exercises consist of these, so that most mistakes can be made in one of them.
SOONER = {"run_attention_weights", "run_scaled_dot_product_attention", "run_rope"}
BY_ID = {mistake.id: mistake for mistake in MISTAKES}
Function = Callable[..., object]
Outputs = Sequence[torch.Tensor | None]


@dataclass(frozen=True)
class Variant:
    """A function that makes a mistake, in one exercise."""

    exercise: str
    mistake: str
    number: int
    function: Function

    def __str__(self) -> str:
        return f"{self.exercise}: {self.mistake} ({self.number})"


def variants_of(catalogue: Sequence) -> list[Variant]:
    return [
        Variant(exercise, entry.id, number, function)
        for entry in catalogue
        for exercise, functions in entry.variants.items()
        if exercise not in getattr(entry, "echoes", ())
        for number, function in enumerate(functions)
    ]


class Examinee:
    """A substitute for a worker: it answers with given functions, and keeps the calls."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._direct = DirectCalls(SimpleNamespace(**functions), ROOT)
        self.calls: list[Call] = []

    def ask(self, call: Call) -> Answer:
        if call.adapter not in self._functions:
            return absent(call.adapter)
        self.calls.append(call)
        return self._direct(call)


@pytest.fixture(scope="module")
def asked() -> Mapping[str, Sequence[Call]]:
    """The plain calls of the assignment's tests to right functions, by exercise."""
    right = Examinee({name: getattr(solutions, name) for name in solutions.__all__})

    def examine(judge: Judge) -> None:
        assert all(verdict.status is Status.PASSED for verdict in judge.grade(right.ask))

    Suite(find_assignment(ROOT)).open(lambda suite: examine(Judge(suite, 0)))
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in right.calls:
        if not (call.wrt or call.count_work or call.watch_inputs or call.device != "cpu"):
            calls[call.adapter].append(call)
    return calls


def outputs(function: Function, calls: Sequence[Call]) -> Outputs:
    """Returns a function's results for calls in float64, with None for each exception."""
    found: list[torch.Tensor | None] = []
    for call in calls:
        torch.default_generator.manual_seed(call.seed)  # without torch's traceback for devices
        arguments = {name: in_float64(value) for name, value in call.arguments.items()}
        try:
            found.append(torch.as_tensor(function(**arguments)))
        except (RuntimeError, IndexError):
            found.append(None)
    return found


def differ(first: Outputs, second: Outputs) -> bool:
    """Returns whether any two outputs differ in shape, or by more than tests allow."""
    for one, other in zip(first, second, strict=True):
        if one is None or other is None:
            if one is not other:
                return True
        elif one.shape != other.shape or not compare(one, other, FLOAT32).ok:
            return True
    return False


# --- Its entries --------------------------------------------------------------------------------


def test_a_mistake_with_variants_of_its_own_is_combined_with_none():
    """An author adds it in the form that docs/authors.md describes for every assignment."""
    plain = SimpleNamespace(
        id="plain", explanation="It is.", hint="Is it?", variants={"run_rope": (lambda **_: None,)}
    )
    for other in (*MISTAKES, plain):
        assert combined(plain, other) == combined(other, plain) == {}


def test_every_agreed_mistake_id_exists():
    """Results, reports and courses refer to these ids."""
    assert BY_ID.keys() >= AGREED


def test_no_id_is_given_twice():
    """Mistakes and habits share one set of ids."""
    ids = [entry.id for entry in (*MISTAKES, *HABITS)]
    assert len(ids) == len(set(ids))


def test_every_mistake_has_a_variant():
    """Every mistake has a variant in some exercise, on which the tests can be tried."""
    assert [mistake.id for mistake in MISTAKES if not mistake.variants] == []


def test_only_weights_not_loaded_is_recognised_by_ignored_arguments():
    """Weights that were never loaded are random numbers."""
    assert [mistake.id for mistake in MISTAKES if mistake.ignores] == ["weights-not-loaded"]
    assert {name for name in BY_ID["weights-not-loaded"].ignores} == {
        name
        for exercise in BY_ID["weights-not-loaded"].variants
        for name in inspect.signature(getattr(adapters, exercise)).parameters
        if name.startswith("W_") or name.endswith("_weight")
    }


@pytest.mark.parametrize("entry", [*MISTAKES, *HABITS], ids=lambda entry: entry.id)
def test_explanation_and_hint_are_one_sentence_each(entry):
    """The hint gives no solution: no line of code, no operator and no name from torch."""
    for text in (entry.explanation, entry.hint):
        assert re.fullmatch(r"[A-Z][^\n]*[.?]", text), text
        assert not re.search(r"[.?!] +[A-Z]", text), text
        assert len(text) < 140, text
    code = r"[`=@*/\[\]()]|torch|transpose|sqrt|tril|triu|masked_fill|inf\b|unsqueeze|keepdim"
    assert not re.search(code, entry.hint), entry.hint


def test_every_variant_accepts_the_adapters_keywords():
    """A variant replaces a student's function."""
    for variant in variants_of((*MISTAKES, *HABITS)):
        wanted = inspect.signature(getattr(adapters, variant.exercise)).parameters
        inspect.signature(variant.function).bind(**dict.fromkeys(wanted))


# --- Its effects --------------------------------------------------------------------------------


@pytest.mark.process(takes="a second")
def test_a_count_that_is_wrong_in_one_parameter_loses_a_third_of_its_values():
    """The adapter's docstring names all four parameters: each is plain, none is generality."""
    exercise = "run_parameter_count"
    functions = [f for mistake in MISTAKES for f in mistake.variants.get(exercise, ())]
    shares: list[float] = []

    def examine(judge: Judge) -> None:
        for function in functions:
            verdicts = [*judge.grade(Examinee({exercise: function}).ask)]
            values = [v for v in verdicts if (v.exercise, v.aspect) == (exercise, Aspect.VALUES)]
            shares.append(sum(v.score for v in values) / sum(v.max_score for v in values))

    Suite(find_assignment(ROOT)).open(lambda suite: examine(Judge(suite, 0)))
    assert len(shares) >= 4
    assert max(shares) < 0.67


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize("exercise", rest_slow(solutions.__all__, SOONER))
def test_answers_of_mistakes_differ_from_each_other_and_from_right_ones(asked, exercise):
    """On the tests' inputs, the answers differ from each other and from the right ones.

    No variant raises on all inputs.
    """
    calls = asked[exercise]
    mine = [variant for variant in variants_of(MISTAKES) if variant.exercise == exercise]
    found = {variant: outputs(variant.function, calls) for variant in mine}
    right = outputs(getattr(solutions, exercise), calls)
    assert [str(variant) for variant in mine if not differ(found[variant], right)] == []
    assert [str(variant) for variant in mine if all(x is None for x in found[variant])] == []
    alike = {
        (exercise, one.mistake, other.mistake)
        for one, other in itertools.combinations(mine, 2)
        if one.mistake != other.mistake and not differ(found[one], found[other])
    }
    assert alike == {row for row in ALIKE if row[0] == exercise}


@pytest.mark.process(takes="a second")
def test_an_echo_gives_the_same_answers_as_another_mistake(asked):
    """The other mistake is named instead, unless the echo was found in another exercise."""
    alike = {"mask-ignored": "causal-missing", "rope-positions-ignored": "mha-positions-ignored"}
    assert {mistake.id for mistake in MISTAKES if mistake.echoes} == alike.keys()
    for echoing, named in alike.items():
        for exercise in BY_ID[echoing].echoes:
            calls = asked[exercise]
            one, other = (
                outputs(BY_ID[id].variants[exercise][0], calls) for id in (echoing, named)
            )
            assert not differ(one, other)


@pytest.mark.process(takes="a second")
def test_two_mistakes_together_give_a_third_answer(asked):
    """A missing scale with a missing causal mask gives a third result."""
    exercise = "run_multihead_self_attention"
    calls = asked[exercise]
    one, other = BY_ID["no-scale"], BY_ID["causal-missing"]
    (both,) = combined(one, other)[exercise]
    found = outputs(both, calls)
    for mistake in (one, other):
        assert differ(found, outputs(mistake.variants[exercise][0], calls))


def test_two_mistakes_in_the_same_part_are_never_combined():
    """A scale is either missing or inverted, never both."""
    assert combined(BY_ID["no-scale"], BY_ID["scale-inverted"]) == {}
    assert combined(BY_ID["no-scale"], BY_ID["dropout-unscaled"]) == {}


def test_a_rare_mistake_is_never_combined_with_another():
    """The number of pairs must stay small, because handouts contain them."""
    assert combined(BY_ID["rope-degrees"], BY_ID["no-scale"]) == {}


# --- The steps ----------------------------------------------------------------------------------


def steps_of(exercise: str, call: Call, mistake: str | None = None) -> dict[str, Outputs]:
    """Returns the steps of a reference, or of the plainest variant of a mistake."""
    function = getattr(solutions, exercise)
    if mistake is not None:
        function = BY_ID[mistake].variants[exercise][0]
    return named_steps(function, {name: in_float64(v) for name, v in call.arguments.items()})


def test_the_steps_of_multihead_attention_with_rope_are_named_in_order(asked):
    """The names come in the order of computation."""
    exercise = "run_multihead_self_attention_with_rope"
    assert list(steps_of(exercise, asked[exercise][0])) == [
        *("queries", "query heads", "keys", "key heads", "values", "value heads"),
        *("frequencies", "positions of the table", "angles", "rotated queries", "rotated keys"),
        *("mask", "scores", "scaled", "masked", "weights", "outputs", "merged", "projected"),
    ]


@pytest.mark.parametrize(
    "parts",
    ["cosines and sines", "those of halves", "even and odd features", "halves"],
)
def test_a_step_in_parts_is_right_only_if_all_its_parts_are(asked, parts):
    """Programs may keep cosines and sines apart, and only one of them may be wrong."""
    steps = steps_of("run_rope", asked["run_rope"][0])
    angles, turned = steps["angles"][0], steps["rotated"][0]
    name, kept = {
        "cosines and sines": ("angles", (angles.cos(), angles.sin())),
        "those of halves": ("angles", (angles.cos().repeat(1, 2), angles.sin().repeat(1, 2))),
        "even and odd features": ("rotated", (turned[..., 0::2], turned[..., 1::2])),
        "halves": ("rotated", turned.chunk(2, dim=-1)),
    }[parts]
    wrong = {name: steps[name], "result": [torch.randn(3)]}
    first, second = (Record(part, (Line("mine.py", n, ""),)) for n, part in enumerate(kept))
    assert steps_seen([first], wrong) == steps_seen([second], wrong) == ()
    assert [one.right for one in steps_seen([first, second], wrong)] == [True, False]


@pytest.mark.parametrize(
    ("mistake", "step"),
    [
        ("no-scale", "scaled"),
        ("causal-sees-next", "mask"),
        ("softmax-over-queries", "weights"),
        ("mask-zero-fill", "masked"),
        ("heads-merge-without-transpose", "merged"),
        ("output-projection-missing", "projected"),
        ("rope-reversed", "rotated queries"),
        ("rope-frequency", "frequencies"),
    ],
)
def test_the_first_wrong_step_of_a_mistake_is_its_own(asked, mistake, step):
    """All earlier steps are right, so that the step can be named."""
    exercise = "run_multihead_self_attention_with_rope"
    call = asked[exercise][0]
    right, wrong = steps_of(exercise, call), steps_of(exercise, call, mistake)
    astray = [name for name in right if differ(right[name], wrong[name])]
    assert astray[0] == step
