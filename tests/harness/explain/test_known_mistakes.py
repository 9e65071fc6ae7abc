"""Known mistakes without a class: the answers that they predict, and the one that explains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from grader.core.evidence import StepSeen, StepWalk
from grader.core.verdict import Aspect
from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.explain.explainer.unknown import nameless, suspicion
from grader.explain.layouts import RESULT, KnownSteps
from grader.explain.mistakes.diagnosis import Finding, diagnose, is_right, wrong_cases
from grader.explain.mistakes.mistakes import KnownMistakes
from grader.explain.repair.choice import Place, RepairedExercise
from grader.explain.repair.search import FileEdit
from grader.explain.rewriting.edit import Edit
from grader.testing.outcome import Observation

pytestmark = pytest.mark.unit

ROW, TABLE = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([[1.0, 4.0, -2.0], [0.5, 3.0, 7.0]])
CASES = ({"x": ROW}, {"x": TABLE})
Function = Callable[..., Any]


def mistake(name: str, variants: Mapping[str, Sequence[Function]], **more: object) -> Any:
    return SimpleNamespace(
        id=name, variants=variants, explanation=f"It is {name}.", hint=f"Why {name}?", **more
    )


def known(
    *mistakes: Any, references: Mapping[str, Function] | None = None, **more: Any
) -> KnownMistakes:
    """Returns a catalogue; every exercise doubles its input, unless told otherwise."""
    every = {"run_double": lambda x: 2 * x, "run_again": lambda x: 2 * x, **(references or {})}
    steps = more.pop("named_steps", None)
    return KnownMistakes(every, SimpleNamespace(MISTAKES=mistakes, **more), steps)


def seen(
    exercise: str,
    function: Function,
    cases: Sequence[Mapping[str, Any]] = CASES,
    aspect: Aspect = Aspect.VALUES,
    refused: bool = False,
    test: str = "",
) -> list[Observation]:
    """Returns a submission's answers to these cases, each in a test of its own unless named."""
    return [
        Observation(
            test or f"{exercise} {aspect} {number}",
            number,
            aspect,
            Call(exercise, arguments),
            function(**arguments),
            refused,
        )
        for number, arguments in enumerate(cases)
    ]


def found_in(catalogue: KnownMistakes, *answers: Sequence[Observation]) -> dict[str, str]:
    """Returns the mistakes that are found, by exercise."""
    by_exercise = {own[0].call.adapter: own for own in answers}
    return {name: one.diagnosis.mistake for name, one in diagnose(catalogue, by_exercise).items()}


TRIPLED = mistake("tripled", {"run_double": (lambda x: 3 * x, lambda x: 4 * x)})
SHIFTED = mistake("shifted", {"run_double": (lambda x: x + 2,)})
MOVED = mistake("moved", {"run_double": (lambda x: x + 2 + (x.ndim == 2),)})


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: 3 * x, "tripled"),
        (lambda x: 4 * x, "tripled"),
        (lambda x: 3 * x * (1 + 1e-6), "tripled"),
        (lambda x: x + 2, "shifted"),
        (lambda x: x + 2 + (x.ndim == 2), "moved"),
        (lambda x: 2 * x, None),
        (lambda x: 3.01 * x, None),
        (lambda x: (5 - x.ndim) * x, None),
        (lambda x: 3 * x if x.ndim == 2 else 2 * x, None),
        (lambda x: 3 * x[None], None),
    ],
)
def test_a_mistake_is_named_if_one_variant_of_it_gives_every_answer(function, name):
    """Neither two variants in turn, nor a single wrong answer, nor another shape is enough."""
    found = found_in(known(TRIPLED, SHIFTED, MOVED), seen("run_double", function))
    assert found == ({} if name is None else {"run_double": name})


def test_a_finding_holds_the_tests_whose_wrong_answers_it_predicts():
    """Right answers are not explained, nor those that another fault made."""
    catalogue, tripled = known(TRIPLED), seen("run_double", lambda x: 3 * x)
    others = [
        *seen("run_double", lambda x: 2 * x, test="right", aspect=Aspect.GRADIENTS),
        *seen("run_double", lambda x: 5 * x, test="other", aspect=Aspect.GRADIENTS),
        *seen("run_double", lambda x: 3 * x, test="same", aspect=Aspect.GRADIENTS),
    ]
    (finding,) = diagnose(catalogue, {"run_double": tripled + others}).values()
    assert finding == Finding(
        catalogue.diagnosis("tripled"), frozenset([*(one.test for one in tripled), "same"])
    )
    said = finding.diagnosis
    assert (said.explanation, said.hint) == ("It is tripled.", "Why tripled?")


ZEROED = mistake("zeroed", {name: (lambda x: 0 * x,) for name in ("run_double", "run_again")})
EMPTIED = mistake("emptied", {"run_again": (lambda x: 0 * x,)})


def test_an_ambiguous_answer_gets_the_name_found_in_another_exercise():
    """The later exercise refers to the first one, in whichever order they come."""
    catalogue, zero = known(ZEROED, EMPTIED), lambda x: 0 * x
    again, first = seen("run_again", zero), seen("run_double", zero)
    assert found_in(catalogue, again) == {}
    both = {"run_double": "zeroed", "run_again": "zeroed"}
    assert found_in(catalogue, first, again) == found_in(catalogue, again, first) == both
    found = diagnose(catalogue, {"run_double": first, "run_again": again})
    assert found["run_double"].diagnosis.explanation == "It is zeroed."
    later = found["run_again"].diagnosis
    assert later.explanation == "The same mistake as in run_double."
    assert later.hint == "Fix run_double first, and see what is left."


def test_one_wrong_answer_shows_a_mistake_that_another_exercise_has():
    """By itself it would be too little."""
    catalogue, zero = known(ZEROED), lambda x: 0 * x
    single = seen("run_again", zero, CASES[:1])
    assert found_in(catalogue, single) == {}
    assert set(found_in(catalogue, seen("run_double", zero), single)) == {"run_double", "run_again"}
    other = seen("run_again", lambda x: 5 * x, CASES[:1])
    assert set(found_in(catalogue, seen("run_double", zero), other)) == {"run_double"}


def test_a_mistake_that_echoes_another_is_named_only_if_it_was_found_elsewhere():
    """Half of the second exercise looks like the other mistake."""
    halved = mistake(
        "halved",
        {"run_double": (lambda x: x / 2,), "run_again": (lambda x: x / 2,)},
        echoes=("run_again",),
    )
    thin = mistake("thin", {"run_again": (lambda x: x / 2,)})
    catalogue, half = known(halved, thin), lambda x: x / 2
    again = seen("run_again", half)
    assert found_in(catalogue, again) == {"run_again": "thin"}
    both = found_in(catalogue, seen("run_double", half), again)
    assert both == {"run_double": "halved", "run_again": "halved"}


def combined(one: Any, other: Any) -> Mapping[str, Sequence[Function]]:
    return {"run_again": (lambda x: 7 * x,)} if (one.id, other.id) == ("tripled", "zeroed") else {}


def test_two_mistakes_made_together_are_named_together():
    """Their sentences are joined."""
    catalogue = known(TRIPLED, ZEROED, combined=combined)
    assert catalogue.names_in("run_again") == ["zeroed", "tripled + zeroed"]
    (finding,) = diagnose(catalogue, {"run_again": seen("run_again", lambda x: 7 * x)}).values()
    said = finding.diagnosis
    assert said.mistake == "tripled + zeroed"
    assert said.explanation == "Two mistakes: it is tripled. It is zeroed."
    assert said.hint == "Why tripled? Why zeroed?"


@pytest.mark.parametrize("are_found", [True, False])
def test_two_mistakes_found_elsewhere_are_likelier_than_a_third(are_found):
    """Only if both were found do they explain what the third one explains as well."""
    seventh = mistake("seventh", {"run_again": (lambda x: 7 * x,)})
    zeroed = mistake("zeroed", {"run_third": (lambda x: 0 * x,)})
    catalogue = known(
        TRIPLED,
        zeroed,
        seventh,
        combined=combined,
        references={"run_third": lambda x: 2 * x},
    )
    third = seen("run_third", lambda x: 0 * x if are_found else 2 * x)
    found = found_in(
        catalogue, seen("run_double", lambda x: 3 * x), third, seen("run_again", lambda x: 7 * x)
    )
    assert found["run_again"] == ("tripled + zeroed" if are_found else "seventh")


def layer(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return x @ w


FIRST, SECOND = torch.eye(3), torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
OTHER_WEIGHTS = ({"w": FIRST, "x": TABLE}, {"w": SECOND, "x": TABLE})
OTHER_BOTH = ({"w": FIRST, "x": TABLE}, {"w": SECOND, "x": TABLE + 1})
FIXED = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize(
    ("answer", "cases", "test", "is_named"),
    [
        (lambda **_: FIXED, OTHER_WEIGHTS, "one", True),
        # Two tests; another answer; a constant; an input; the other input differs as well.
        (lambda **_: FIXED, OTHER_WEIGHTS, "", False),
        (lambda w, x: x @ w.T + 1, OTHER_WEIGHTS, "one", False),
        (lambda x, **_: 0 * x, OTHER_WEIGHTS, "one", False),
        (lambda x, **_: x, OTHER_WEIGHTS, "one", False),
        (lambda **_: FIXED, OTHER_BOTH, "one", False),
    ],
)
def test_equal_answers_to_other_arguments_show_that_these_are_ignored(
    answer, cases, test, is_named
):
    """A program that ignores more than the mistake does is not named."""
    ignoring = mistake("ignoring", {"run_layer": (lambda w, x: x @ w * 9,)}, ignores=("w",))
    catalogue = known(ignoring, references={"run_layer": layer})
    found = found_in(catalogue, seen("run_layer", answer, cases, test=test))
    assert found == ({"run_layer": "ignoring"} if is_named else {})


def test_a_mistake_is_known_by_the_shape_of_refused_answers():
    """If too few answers have the right shape, those of a wrong one count."""
    extra = mistake("extra", {"run_double": (lambda x: 2 * x[None],)})
    refused = seen("run_double", lambda x: 2 * x[None], refused=True)
    assert found_in(known(extra), refused) == {"run_double": "extra"}
    tripled = seen("run_double", lambda x: 3 * x)
    other = seen("run_double", lambda x: 9 * x[None], refused=True)
    assert found_in(known(TRIPLED), [*tripled, *other]) == {"run_double": "tripled"}
    assert found_in(known(TRIPLED), [*tripled[:1], *other]) == {}


HUGE = ({"x": torch.tensor([200.0, 201.0])}, {"x": torch.tensor([-200.0, -210.0])})


def softmax(x: torch.Tensor) -> torch.Tensor:
    return x.softmax(-1)


def naive(x: torch.Tensor) -> torch.Tensor:
    return x.exp() / x.exp().sum(-1, keepdim=True)


def test_a_mistake_is_known_by_where_it_overflows():
    """Only in the precision of the inputs does it; right answers there speak against it."""
    catalogue = known(
        mistake("naive", {"run_ratio": (naive,)}, own_dtype=True), references={"run_ratio": softmax}
    )
    large = seen("run_ratio", naive, HUGE, Aspect.NUMERICS)
    assert all(bool(one.value.isnan().any()) for one in large)
    assert found_in(catalogue, large) == {"run_ratio": "naive"}
    in_double = known(mistake("naive", {"run_ratio": (naive,)}), references={"run_ratio": softmax})
    assert found_in(in_double, large) == {}
    right = seen(
        "run_ratio", softmax, ({"x": torch.tensor([500.0, 501.0])},), Aspect.NUMERICS, test="right"
    )
    assert found_in(catalogue, [*large, *right]) == {}
    efficiency = seen("run_ratio", naive, HUGE, Aspect.EFFICIENCY)
    assert found_in(catalogue, efficiency) == {}


SMALL = ({"x": torch.tensor([0.3, -0.7, 1.0])}, {"x": torch.tensor([0.5, 0.9])})


def test_rounding_that_moves_an_answer_is_part_of_its_prediction():
    """In float32, 1e5 * x is exact to two digits after its sine."""
    fast = lambda x: (1e5 * x).sin()  # noqa: E731
    catalogue = known(
        mistake("fast", {"run_wave": (fast,)}, own_dtype=True),
        mistake("quick", {"run_wave": (lambda x: (1001e2 * x).sin(),)}, own_dtype=True),
        mistake("wrong", {"run_wave": (lambda x: x[:1],)}, own_dtype=True),
        mistake("none", {"run_wave": (lambda x: x.nothing,)}, own_dtype=True),
        references={"run_wave": lambda x: x.sin()},
    )
    one, _ = answers = seen("run_wave", fast, SMALL)
    (fitting,), (other,) = catalogue.predictions("fast", one), catalogue.predictions("quick", one)
    assert 1e-4 < fitting.rounding < 0.1
    assert fitting.agrees(one, 1)
    assert not other.agrees(one, 1)
    assert found_in(catalogue, answers) == {"run_wave": "fast"}
    assert catalogue.predictions("none", one) == (None,)


def test_wrong_answers_are_counted_in_tests_that_tell_mistakes_apart():
    """Gradients and numerics do not."""
    catalogue = known(TRIPLED, references={"run_chance": lambda x: torch.rand(x.shape)})
    wrong = seen("run_double", lambda x: 3 * x)
    counted = [*wrong, *seen("run_double", lambda x: 2 * x)]
    assert wrong_cases(catalogue, counted) == 2
    assert wrong_cases(catalogue, seen("run_double", lambda x: 3 * x, aspect=Aspect.NUMERICS)) == 0
    assert wrong_cases(catalogue, seen("run_double", lambda x: x, aspect=Aspect.GENERALITY)) == 2
    assert [is_right(catalogue, one) for one in counted] == [False, False, True, True]
    (by_chance,) = seen("run_chance", lambda x: x, CASES[:1])
    assert is_right(catalogue, by_chance) is None


def test_each_answer_of_a_mistake_is_computed_once():
    """Every submission of a class gets the same call."""
    calls: list[torch.Tensor] = []

    def counting(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return 3 * x

    catalogue = known(mistake("counted", {"run_double": (counting,)}))
    one, other = seen("run_double", lambda x: x)
    for _ in range(2):
        catalogue.predictions("counted", one)
    assert len(calls) == 1
    assert calls[0].dtype is torch.float64
    catalogue.predictions("counted", other)
    assert len(calls) == 2
    assert catalogue.predictions("counted", seen("run_again", lambda x: x)[0]) == ()
    assert catalogue.names(one) == ["counted"]
    assert catalogue.names_in("run_again") == []


def test_a_mistake_may_call_the_references_and_leaves_the_random_state_alone():
    """Its random numbers follow from the call's seed."""
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    drawn = mistake("drawn", {"run_double": (lambda x: torch.rand(x.shape),)})
    catalogue = known(drawn)
    (one,) = seen("run_double", lambda x: x, CASES[:1])
    (first,), (second,) = (known(drawn).predictions("drawn", one) for _ in range(2))
    assert torch.equal(first.value, second.value)
    assert catalogue.predictions("drawn", one)[0].agrees(one, 1) is False
    assert torch.equal(torch.rand(1), expected)


def steps_of(function: Function, arguments: Mapping[str, Any]) -> dict[str, list[torch.Tensor]]:
    """Returns steps, of which a mistake called `wrongly` gets one wrong."""
    x = arguments["x"]
    if getattr(function, "__name__", "") == "fails":
        raise ValueError("no steps")
    third = 3 * x if getattr(function, "__name__", "") == "wrongly" else x
    return {"input": [x + 1], "factor": [third], "table": [torch.arange(3.0)], "own": [x]}


def test_the_steps_of_a_reference_end_with_its_result():
    """A script, or an exercise with dropout, has no steps."""

    def wrongly(x: torch.Tensor) -> torch.Tensor:
        return 3 * x

    def fails(x: torch.Tensor) -> torch.Tensor:
        return x

    def rightly(x: torch.Tensor) -> torch.Tensor:
        return x

    catalogue = known(
        mistake("one", {"run_double": (wrongly,)}),
        mistake("some", {"run_double": (wrongly, rightly)}),
        mistake("bad", {"run_double": (fails,)}),
        mistake("elsewhere", {"run_again": (wrongly,)}),
        references={"run_fails": lambda x: x.nothing, "run_drop": lambda x: x},
        DROPPED_FROM={"run_drop": "x"},
        named_steps=steps_of,
    )
    (one,) = seen("run_double", lambda x: x, CASES[:1])
    steps = catalogue.steps(one)
    assert [*steps] == ["input", "factor", "table", "own", RESULT]
    assert torch.equal(steps[RESULT][0], 2 * ROW.double())
    assert catalogue.steps(one) is steps
    for exercise in ("run_fails", "run_drop"):
        assert catalogue.steps(seen(exercise, lambda x: x, CASES[:1])[0]) is None
    script = Call("run_double", {"x": ROW}, then=(Step(0, Doing.READ, "T"),))
    assert catalogue.steps(Observation("script", 0, Aspect.VALUES, script, ROW)) is None
    assert [*known(TRIPLED).steps(one)] == [RESULT]
    assert set(catalogue.fixed_steps(one)) == {"table"}
    assert catalogue.fixed_steps(seen("run_drop", lambda x: x, CASES[:1])[0]) == ()
    assert known(TRIPLED).fixed_steps(one) == ()


def test_steps_of_complex_numbers_are_pairs_as_in_records():
    """A step with the right real part alone is another step."""

    def turned(x: torch.Tensor) -> torch.Tensor:
        return x

    def steps_of_turns(function: Function, inputs: Mapping[str, Any]) -> dict[str, Any]:
        angle = inputs["x"] * (1 if function.__name__ == "<lambda>" else -1)
        return {"turn": [torch.polar(torch.ones_like(angle), angle).conj()]}

    catalogue = known(mistake("back", {"run_double": (turned,)}), named_steps=steps_of_turns)
    (one,) = seen("run_double", lambda x: x, CASES[:1])
    steps = catalogue.steps(one)
    assert torch.allclose(steps["turn"][0], torch.stack([ROW.cos(), -ROW.sin()], -1).double())
    assert KnownSteps(steps).likeness(ROW.double().cos()) == {}


def test_a_dropout_mistake_is_known_by_factor_and_pattern():
    """Its exercise has another random mask in every answer."""

    def drop(x: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.rand(x.shape) < 0.5, 0, 2 * x)

    def unscaled(x: torch.Tensor) -> torch.Tensor:
        return torch.where(torch.rand(x.shape) < 0.5, 0, x)

    catalogue = known(
        mistake("unscaled", {"run_drop": (unscaled,)}),
        references={"run_drop": drop},
        DROPPED_FROM={"run_drop": "x"},
    )
    torch.manual_seed(3)
    cases = ({"x": 1 + torch.rand(32, 32)}, {"x": 1 + torch.rand(16, 16)})
    assert found_in(catalogue, seen("run_drop", unscaled, cases)) == {"run_drop": "unscaled"}
    assert found_in(catalogue, seen("run_drop", drop, cases)) == {}
    (wrong, _) = seen("run_drop", unscaled, cases)
    assert catalogue.right(wrong).agrees(wrong, 1) is False


def test_wrong_answers_without_a_name_are_kept_with_their_call():
    """Right answers, and those that tell no mistakes apart, are left out."""
    catalogue = known(TRIPLED)
    answers = {
        "run_double": [
            *seen("run_double", lambda x: 5 * x, CASES[:1]),
            *seen("run_double", lambda x: 2 * x, CASES[1:], test="right"),
            *seen("run_double", lambda x: 5 * x, aspect=Aspect.NUMERICS),
            *seen("run_double", lambda x: 5 * x, CASES[1:], Aspect.GENERALITY, test="deep"),
        ],
        "run_again": seen("run_again", lambda x: 2 * x),
    }
    (found,) = nameless(catalogue, answers)
    assert found.exercise == "run_double"
    first, second = found.answers
    assert (first.plain, second.plain) == (True, False)
    assert first.test == "run_double values 0"
    assert (first.call, first.shape, first.numbers) == (0, (3,), (5.0, -10.0, 15.0))
    assert (first.inputs, first.size) == ("x: float32[3]", 3)
    assert first.tolerance == (1.3e-6, 1e-5)
    assert (second.shape, second.size) == ((2, 3), 6)


def test_a_cluster_is_suspected_at_a_repaired_line_or_a_wrong_step():
    """The line is proved, so it comes first."""
    steps = (StepSeen("scores", (2,), (2,), True), StepSeen("weights", (2,), None, False))
    walks = (
        StepWalk("run_b", "t", steps),
        StepWalk("run_a", "t", steps[:1]),
        StepWalk("run_a", "t", steps),
    )
    assert suspicion("run_a", {}, walks) == 'the step "weights" is wrong or missing'
    assert suspicion("run_a", {}, walks[:2]) is None
    edit = FileEdit("a.py", Edit("constant", 3, (3,), 1.0, (), "a factor", None))
    place = Place(edit, "a.py", 3, "return 3 * x", "a factor", "return 2 * x")
    repaired = {"run_a": RepairedExercise((place,), frozenset({"run_a"}), True)}
    assert suspicion("run_a", repaired, walks) == "a factor: return 3 * x"
    assert suspicion("run_b", repaired, walks) == 'the step "weights" is wrong or missing'


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64])
def test_a_mistake_that_writes_into_its_inputs_changes_no_other_answer(dtype):
    """Inputs of these dtypes reach a reference as they are."""

    def shifted(x: torch.Tensor) -> torch.Tensor:
        return 2 * x.add_(1)

    def steps(function: Function, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"moved": [function(**inputs)]}

    x = torch.arange(3, dtype=dtype)
    catalogue = known(mistake("shifted", {"run_double": (shifted,)}), named_steps=steps)
    (one,) = seen("run_double", lambda x: 2 * x, [{"x": x}])
    (wrong,) = catalogue.predictions("shifted", one)
    assert wrong is not None
    assert not wrong.agrees(one, 1)
    assert is_right(catalogue, one)
    assert x.tolist() == [0, 1, 2]
