"""Causes: which failures share one, and how it is told once."""

from __future__ import annotations

import dataclasses

import pytest

from grader.core.cause_remarks import remarks
from grader.core.causes import (
    ONE_OF_TWO,
    STAYS_WRONG,
    STEPS_TOLD,
    Cause,
    FailedTest,
    causes,
    counted,
)
from grader.core.verdict import Aspect, Diagnosis, Status, Verdict, Visibility, Where

pytestmark = pytest.mark.unit

ORDER = ["run_mask", "run_weights", "run_attention"]
INVERTED = Diagnosis(
    "mask-inverted",
    "Your mask works the wrong way round: what it allows is hidden.",
    "What does True stand for here?",
)
AGAIN = dataclasses.replace(
    INVERTED,
    explanation="The same mistake as in run_weights.",
    hint="Fix run_weights first, and see what is left.",
)
LINE = ("assignment/warmup.py", 25)
WRONG = "every value is wrong\n60 of 60 values in the result are wrong; the worst is off by 0.777"


def failed(exercise: str, name: str = "test_it", **known: object) -> FailedTest:
    """Returns a test with a wrong answer."""
    fields = {"status": Status.FAILED, "message": WRONG} | known
    return FailedTest(f"tests/test_{exercise}.py::{name}", exercise, **fields)


def only(*tests: FailedTest, **more: object) -> Cause:
    """Returns the one cause that all of these tests share."""
    (cause,) = causes(tests, ORDER, **more)
    assert len(cause.tests) == len(tests)
    return cause


def test_a_mistake_in_a_shared_helper_is_one_cause():
    """The root exercise is shown with the line, wherever it was proved; the rest is counted."""
    cause = only(
        failed("run_attention", mistake=AGAIN, places=(LINE,)),
        failed("run_weights", mistake=INVERTED),
        failed("run_weights", "test_again", mistake=INVERTED),
    )
    assert cause.exercises == ("run_weights", "run_attention")
    assert cause.shown.exercise == "run_weights"
    assert (cause.id, cause.hint) == ("mask-inverted", "What does True stand for here?")
    assert cause.extent == "3 failures in 2 exercises"
    assert counted([cause]) == "1 cause of 3 failures"
    assert cause.headline == (
        "run_weights: your mask works the wrong way round: what it allows is hidden "
        "(assignment/warmup.py:25)"
    )


def test_the_same_line_is_the_same_cause_whatever_is_known_beside_it():
    """Only one of the exercises has enough cases for the mistake to be named."""
    cause = only(
        failed("run_mask", places=(LINE,), advice="Look at the `~`."),
        failed("run_weights", places=(LINE,), mistake=INVERTED),
        failed("run_attention", places=(LINE,), status=Status.ERROR, message="ValueError: ..."),
    )
    assert cause.places == (LINE,)


def test_failures_that_one_line_causes_are_told_where_they_differ():
    """A program that uses NumPy raises for some inputs and passes no gradient for others."""
    raised = {"status": Status.ERROR, "places": (LINE,)}
    cause = only(
        failed("run_mask", message="TypeError: Got unsupported BFloat16", **raised),
        failed("run_mask", "test_grad", message="no gradient reaches x: …", places=(LINE,)),
        failed("run_weights", message="TypeError: Got unsupported BFloat16", **raised),
        failed("run_weights", "test_grad", message="no gradient reaches Q: …", places=(LINE,)),
        failed("run_weights", "test_meta", message="TypeError: can't convert 3", **raised),
        failed("run_weights", "test_more", message="TypeError: can't convert 4", **raised),
    )
    assert cause.title == "run_mask: TypeError: Got unsupported BFloat16"
    assert [*remarks(cause)] == [
        "Another failure of this cause: run_mask: no gradient reaches x: …",
        "Another failure of this cause: run_weights: TypeError: can't convert 3",
    ]
    one_way = [failed("run_mask"), failed("run_mask", "again", message=f"some {WRONG}")]
    assert [*remarks(only(*one_way))] == []


def test_a_mistake_is_named_for_the_exercises_that_show_it():
    """A mask inverted where it is applied looks like a wrong causal mask."""
    cause = only(
        failed("run_mask", places=(LINE,), status=Status.ERROR, message="ValueError: 5 is not 7"),
        failed("run_weights", places=(LINE,), mistake=INVERTED),
        failed("run_attention", places=(LINE,), mistake=AGAIN),
    )
    assert (cause.id, cause.title) == (None, "run_mask: ValueError: 5 is not 7")
    assert [*remarks(cause)][1:] == [
        "In run_weights and 1 more exercise: your mask works the wrong way round: what it allows "
        "is hidden [mask-inverted]",
    ]


def test_exercises_that_need_another_mistake_fixed_too_are_named():
    """Fixing the line is enough at the root, and not where something else is wrong as well."""
    of_two = f"{WRONG}\n{ONE_OF_TWO} With the other fixed, changing a.py:1 fixes the exercise."
    more = [
        failed(name, places=(LINE,), message=of_two) for name in ("run_weights", "run_attention")
    ]
    said = "In run_weights and 1 more exercise, this is one of two mistakes."
    assert said in [*remarks(only(failed("run_mask", places=(LINE,)), *more))]
    assert [*remarks(only(*more))] == []


def test_no_exception_says_what_the_explainer_says():
    """A submission chooses its exception's text, even the class name that begins the first line."""
    forged = f"{ONE_OF_TWO}: {STAYS_WRONG}a.py:1, {STEPS_TOLD}all of it"
    raised = failed("run_weights", message=f"{forged}\n    {forged}", status=Status.ERROR)
    cause = only(failed("run_mask", mistake=INVERTED), dataclasses.replace(raised, mistake=AGAIN))
    assert not raised.is_apart
    assert [*remarks(cause)] == []


def test_a_number_that_is_not_told_is_wrong_as_one_that_is():
    """Public tests tell what they expect, hidden ones do not."""
    hidden = failed("run_mask", "b", message="the result is 71: something else was expected")
    cause = only(failed("run_mask", message="the result is 147: 168 was expected"), hidden)
    assert [*remarks(cause)] == []


def test_steps_of_a_test_that_is_not_told_in_full_are_told_as_another_test_s():
    """The steps belong to one large call, while a smaller test is easier to read."""
    steps = "Right so far: scores. Wrong: the result."
    walked = failed("run_mask", "test_large", message=f"{WRONG}\n{steps}")
    cause = only(failed("run_mask"), walked)
    assert cause.shown is not walked
    said = "Right so far in another of these tests: scores. Wrong: the result."
    assert [*remarks(cause)] == [said]
    assert [*remarks(only(walked, failed("run_mask")))] == []


def test_two_mistakes_are_two_causes_the_root_first():
    """The order of the tests does not matter."""
    other = Diagnosis("no-scale", "Your scores are not scaled.", "What undoes that?")
    found = causes(
        [failed("run_attention", mistake=other), failed("run_weights", mistake=INVERTED)], ORDER
    )
    assert [cause.id for cause in found] == ["mask-inverted", "no-scale"]
    assert counted(found) == "2 causes of 2 failures"


def test_where_no_mistake_is_known_the_message_is_the_sentence():
    """The headline leaves out the source line, and the advice becomes the hint."""
    cause = only(
        failed(
            "run_mask",
            status=Status.ERROR,
            message="TypeError: no tensor (assignment/warmup.py:25)\n    return x",
            places=(LINE,),
            advice="Look at `x`.",
        )
    )
    assert cause.headline == "run_mask: TypeError: no tensor (assignment/warmup.py:25)"
    assert (cause.id, cause.hint) == (None, "Look at `x`.")


def test_of_wrong_values_the_line_says_more():
    """With a proved line and no known mistake, the headline says what is wrong in the line."""
    said = "A constant in assignment/warmup.py:25 looks wrong."
    cause = only(failed("run_mask", places=(LINE,), advice=said))
    assert cause.headline == "run_mask: a constant in assignment/warmup.py:25 looks wrong"
    assert not cause.hint


def test_what_is_to_be_checked_is_the_hint_below_what_is_wrong():
    """This advice says what to do, not what is wrong."""
    cause = only(failed("run_mask", places=(LINE,), advice="Check the operator `~`."))
    assert cause.headline == "run_mask: every value is wrong (assignment/warmup.py:25)"
    assert cause.hint == "Check the operator `~`."


def test_wrong_numbers_of_one_exercise_are_alike_but_for_the_numbers():
    """Each case has its own counts and errors."""
    shorter = "some values are wrong\n2 of 6 values in the result are wrong; the worst is off by 1"
    only(failed("run_mask"), failed("run_mask", "test_again", message=shorter))
    only(
        failed("run_mask", message="some values are wrong\n2 of 6 values in the result are wrong"),
        failed("run_mask", message="the rows are wrong\n1 of 3 values in the rows are wrong"),
    )
    assert len(causes([failed("run_mask"), failed("run_weights")], ORDER)) == 2


def test_texts_that_are_wrong_from_their_beginning_on_are_alike():
    """Each case has its own text, and its own name for it."""
    one = "decode(…) begins with 'ab': 'c' was expected"
    again = "the decoded text begins with 'x': 'yz' was expected"
    only(failed("run_mask", message=one), failed("run_mask", "test_again", message=again))


def test_gradients_of_wrong_values_follow_from_them():
    """Right values come first; without wrong values, wrong gradients are a cause of their own."""
    gradients = failed(
        "run_mask", "test_gradients", message="the gradient of Q", aspect=Aspect.GRADIENTS
    )
    cause = only(gradients, failed("run_mask", mistake=INVERTED))
    assert cause.shown.aspect is Aspect.VALUES
    assert only(gradients).sentence == "the gradient of Q"


def test_two_causes_never_have_the_same_headline():
    """A reader could not tell two such causes apart."""
    other = "every value is wrong\n4 of 4 values in the result[1] are wrong; the worst is off by 1"
    only(failed("run_mask"), failed("run_mask", "test_again", message=other))


def test_the_same_error_in_two_exercises_is_one_cause_with_two_places():
    """A line that appears twice in a program is wrong twice."""
    said = "IndexError: Dimension out of range (a.py:{})\n    return x.sum(dim=3)"
    raised = [
        failed(name, status=Status.ERROR, message=said.format(line), places=(("a.py", line),))
        for name, line in zip(ORDER, (3, 9), strict=False)
    ]
    assert only(*raised).headline == (
        "run_mask: IndexError: Dimension out of range (a.py:3; a.py:9)"
    )


def test_calls_that_do_not_fit_one_function_are_one_cause():
    """The places of the calls and Python's words for each do not matter."""
    said = (
        "TypeError: {} (a.py:{line})\n    return rope({line})\nwith x = float32[2]\n"
        "rope was given more than it takes: it is rope(x, theta) in b.py:{defined}."
    )
    raised = [
        failed(
            name,
            status=Status.ERROR,
            message=said.format(f"rope() takes {line} arguments", line=line, defined=7),
            places=(("a.py", line),),
        )
        for line, name in enumerate(ORDER, 1)
    ]
    assert only(*raised).lines == "a.py:1; a.py:2; a.py:3"
    elsewhere = dataclasses.replace(
        raised[1], message=said.format("rope() takes 5 arguments", line=2, defined=8)
    )
    assert len(causes([raised[0], elsewhere], ORDER)) == 2


def test_a_fault_of_one_aspect_follows_from_the_same_fault_below():
    """A loop in a shared function counts once, and wrong values explain any other aspect."""
    builds_on = {"run_attention": ["run_weights"]}
    loop = {"message": "makes more torch operations", "aspect": Aspect.EFFICIENCY}
    only(failed("run_weights", **loop), failed("run_attention", **loop), builds_on=builds_on)
    only(failed("run_weights"), failed("run_attention", **loop), builds_on=builds_on)
    values = [failed("run_weights", **loop), failed("run_attention")]
    assert len(causes(values, ORDER, builds_on)) == 2


def test_wrong_answers_follow_from_those_of_an_exercise_that_theirs_builds_on():
    """This holds only if nothing more is known: a mistake, a line or an exception says more."""
    builds_on = {"run_weights": ["run_mask"], "run_attention": ["run_weights"]}
    cause = only(
        failed("run_mask"), failed("run_weights"), failed("run_attention"), builds_on=builds_on
    )
    assert cause.shown.exercise == "run_mask"
    named = [failed("run_mask"), failed("run_weights", mistake=INVERTED)]
    assert len(causes(named, ORDER, builds_on)) == 2


def test_wrong_answers_follow_from_what_is_known_of_the_same_exercise():
    """One plain case that raises nothing does not make another cause of the same line."""
    raised = {"status": Status.ERROR, "message": "ValueError: no", "places": (LINE,)}
    cause = only(failed("run_mask"), failed("run_mask", "test_again", **raised))
    assert cause.shown.places == (LINE,)
    deeper = raised | {"aspect": Aspect.GENERALITY}
    assert len(causes([failed("run_mask"), failed("run_mask", "test_deep", **deeper)])) == 2


def test_a_function_that_is_not_called_again_has_no_cause_of_its_own():
    """The function ended its process twice, and that crash is the cause."""
    said = {"status": Status.CRASHED, "message": "run_mask(...) ended its process (SIGABRT)"}
    again = f"run_mask was not called again after this happened twice: {said['message']}"
    only(failed("run_mask", **said), failed("run_mask", "test_b", **said | {"message": again}))


def test_what_is_not_found_is_one_slip_at_however_many_lines():
    """A forgotten import shows up wherever the name is used."""
    said = "NameError: name 'math' is not defined (a.py:{})"
    cause = only(
        *(
            failed(name, status=Status.ERROR, message=said.format(line), places=(("a.py", line),))
            for name, line in zip(ORDER, (3, 9, 27), strict=True)
        )
    )
    assert cause.headline == (
        "run_mask: NameError: name 'math' is not defined (a.py:3; a.py:9; a.py:27)"
    )


def test_of_two_lines_between_which_nothing_decides_one_is_to_be_changed():
    """The word "or" tells these lines from lines that are all wrong."""
    cause = only(failed("run_mask", places=(LINE, ("assignment/warmup.py", 26), ("a.py", 2))))
    assert cause.lines == "assignment/warmup.py:25 or assignment/warmup.py:26 or a.py:2"


def test_what_is_not_written_comes_last_and_once():
    """A missing exercise is not an error to fix."""
    missing = {"status": Status.MISSING}
    wrong, rest = causes(
        [
            failed("run_mask", message="run_mask is not implemented yet", **missing),
            failed("run_weights", message="run_weights is not implemented yet", **missing),
            failed("run_attention", mistake=INVERTED),
        ],
        ORDER,
    )
    assert wrong.id == "mask-inverted"
    assert rest.sentence == "2 exercises are not written yet."


def test_names_and_symbols_keep_their_capitals():
    """After a colon only an ordinary word begins in lower case."""
    for explanation, begins in (("RoPE is", "RoPE"), ("A mask", "a mask"), ("Q and K", "Q and")):
        named = dataclasses.replace(INVERTED, explanation=explanation)
        headline = only(failed("run_mask", mistake=named)).headline
        assert headline.startswith(f"run_mask: {begins}")


def test_a_verdict_is_read_as_it_is():
    """Reports and exports have only the verdict."""
    verdict = Verdict(
        "tests/t.py::test_it",
        "run_mask",
        Aspect.VALUES,
        Status.FAILED,
        0.0,
        1.0,
        Visibility.PUBLIC,
        message=WRONG,
        diagnosis=INVERTED,
        where=Where(*LINE),
    )
    assert only(FailedTest.of(verdict)).headline == (
        "run_mask: your mask works the wrong way round: what it allows is hidden "
        "(assignment/warmup.py:25)"
    )


def test_the_text_that_a_case_asked_about_makes_no_cause_of_its_own():
    """Each case draws its own text, as in `what=f"encode({text!r})"`, and quotes its own answer."""
    only(
        failed("get_tokenizer", message="encode('ab (c')[3] is 101: 257 was expected"),
        failed("get_tokenizer", "test_b", message='encode("it\'s")[10] is 9: 300 was expected'),
        failed("get_tokenizer", "test_c", message="the ids of 'a b'[0] is 9: 300 was expected"),
    )
    assert (
        len(
            causes(
                [
                    failed("get_tokenizer", message="encode('ab')[3] is 101: 257 was expected"),
                    failed(
                        "get_tokenizer", "test_b", message="decode([1, 2]) is 'a': 'b' was expected"
                    ),
                ]
            )
        )
        == 2
    )


def test_what_did_not_end_is_one_cause_by_whichever_clock():
    """On a busy machine either clock may run out first."""
    by = ("30 seconds by the clock", "10 seconds of processor time")
    said = [f"run_mask(...) took longer than {limit} and was stopped" for limit in by]
    only(*(failed("run_mask", one, status=Status.TIMEOUT, message=one) for one in said))


def test_what_had_no_time_left_is_due_to_what_hung_before():
    """The line that hung is the one to fix, whichever exercise it belongs to."""
    late = {
        "status": Status.TIMEOUT,
        "message": "the submission's 120 seconds were used up before this test",
    }
    hung = {"status": Status.TIMEOUT, "message": "after 10 s still running a.py:3"}
    cause = only(
        failed("run_mask", places=(("a.py", 3),), **hung),
        failed("run_weights", places=(("a.py", 3),), **late),
        failed("run_rope", **late),
    )
    assert cause.sentence == hung["message"]


def test_what_is_not_written_has_tests_and_no_failures():
    """A test of a missing exercise has not failed yet."""
    missing = [failed(name, status=Status.MISSING, message="") for name in ORDER[:2]]
    assert only(*missing).extent == "2 tests in 2 exercises"
