"""Causes: which failures share one, and how it is told once."""

from __future__ import annotations

import dataclasses

import pytest

from grader.core.causes import (
    STAYS_WRONG,
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


def one_cause(*tests: FailedTest, **more: object) -> Cause:
    """Returns the one cause that all of these tests share."""
    (cause,) = causes(tests, ORDER, **more)
    assert len(cause.tests) == len(tests)
    return cause


def test_a_mistake_in_a_shared_helper_is_one_cause():
    """The root exercise is shown with the line, wherever it was proved; the rest is counted."""
    cause = one_cause(
        failed("run_attention", mistake=AGAIN, places=(LINE,)),
        failed("run_weights", mistake=INVERTED),
        failed("run_weights", "test_again", mistake=INVERTED),
    )
    assert cause.exercises == ("run_weights", "run_attention")
    assert cause.shown.exercise == "run_weights"
    assert (cause.id, cause.hint) == ("mask-inverted", "What does True stand for here?")
    assert cause.extent == "3 failures in 2 exercises"
    assert counted([cause]) == "3 failures of 1 kind"
    assert cause.headline == (
        "run_weights: your mask works the wrong way round: what it allows is hidden "
        "(assignment/warmup.py:25)"
    )


def test_failures_at_one_line_share_a_cause_whatever_else_is_known():
    """Only one of the exercises has enough cases for the mistake to be named."""
    cause = one_cause(
        failed("run_mask", places=(LINE,), advice="Look at the `~`."),
        failed("run_weights", places=(LINE,), mistake=INVERTED),
        failed("run_attention", places=(LINE,), status=Status.ERROR, message="ValueError: ..."),
    )
    assert cause.places == (LINE,)


def test_a_cause_names_a_mistake_only_for_exercises_that_show_it():
    """A mask inverted where it is applied looks like a wrong causal mask."""
    cause = one_cause(
        failed("run_mask", places=(LINE,), status=Status.ERROR, message="ValueError: 5 is not 7"),
        failed("run_weights", places=(LINE,), mistake=INVERTED),
        failed("run_attention", places=(LINE,), mistake=AGAIN),
    )
    assert (cause.id, cause.title) == (None, "run_mask: ValueError: 5 is not 7")


def test_an_exception_cannot_forge_the_explainers_words():
    """A submission chooses its exception's text, even the class name that begins the first line."""
    forged = f"{STAYS_WRONG}a.py:1"
    raised = failed("run_weights", message=f"{forged}\n    {forged}", status=Status.ERROR)
    one_cause(failed("run_mask", mistake=INVERTED), dataclasses.replace(raised, mistake=AGAIN))
    assert not raised.is_apart


def test_wrong_numbers_are_one_failure_with_or_without_the_expected_value():
    """Public tests tell what they expect, hidden ones do not."""
    hidden = failed("run_mask", "b", message="the result is 71: something else was expected")
    one_cause(failed("run_mask", message="the result is 147: 168 was expected"), hidden)


def test_two_mistakes_are_two_causes_with_the_root_exercise_first():
    """The order of the tests does not matter."""
    other = Diagnosis("no-scale", "Your scores are not scaled.", "What undoes that?")
    found = causes(
        [failed("run_attention", mistake=other), failed("run_weights", mistake=INVERTED)], ORDER
    )
    assert [cause.id for cause in found] == ["mask-inverted", "no-scale"]
    assert counted(found) == "2 failures of 2 kinds"


def test_without_a_known_mistake_the_headline_is_the_test_message():
    """The headline leaves out the source line, and the advice becomes the hint."""
    cause = one_cause(
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


def test_the_headline_of_wrong_values_uses_the_advice_about_the_line():
    """With a proved line and no known mistake, the headline says what is wrong in the line."""
    said = "A constant in assignment/warmup.py:25 looks wrong."
    cause = one_cause(failed("run_mask", places=(LINE,), advice=said))
    assert cause.headline == "run_mask: a constant in assignment/warmup.py:25 looks wrong"
    assert not cause.hint


def test_advice_to_check_something_becomes_the_hint():
    """This advice says what to do, not what is wrong."""
    cause = one_cause(failed("run_mask", places=(LINE,), advice="Check the operator `~`."))
    assert cause.headline == "run_mask: every value is wrong (assignment/warmup.py:25)"
    assert cause.hint == "Check the operator `~`."


def test_wrong_values_of_one_exercise_are_one_cause_whatever_their_counts():
    """Each case has its own counts and errors."""
    shorter = "some values are wrong\n2 of 6 values in the result are wrong; the worst is off by 1"
    one_cause(failed("run_mask"), failed("run_mask", "test_again", message=shorter))
    one_cause(
        failed("run_mask", message="some values are wrong\n2 of 6 values in the result are wrong"),
        failed("run_mask", message="the rows are wrong\n1 of 3 values in the rows are wrong"),
    )
    assert len(causes([failed("run_mask"), failed("run_weights")], ORDER)) == 2


def test_wrong_texts_of_one_exercise_are_one_cause():
    """Each case has its own text, and its own name for it."""
    one = "decode(…) begins with 'ab': 'c' was expected"
    again = "the decoded text begins with 'x': 'yz' was expected"
    one_cause(failed("run_mask", message=one), failed("run_mask", "test_again", message=again))


def test_two_kinds_of_wrong_texts_are_two_causes():
    """A text that is told whole says nothing without its name."""
    decoded = "the decoded text is 'a': 'b' was expected"
    token = "token 6 of 'x y' is b'y': b'z' was expected"
    both = [
        failed("get_tokenizer", message=decoded),
        failed("get_tokenizer", "test_b", message=token),
    ]
    assert len(causes(both)) == 2


def test_wrong_gradients_belong_to_the_cause_of_wrong_values():
    """Right values come first; without wrong values, wrong gradients are a cause of their own."""
    gradients = failed(
        "run_mask", "test_gradients", message="the gradient of Q", aspect=Aspect.GRADIENTS
    )
    cause = one_cause(gradients, failed("run_mask", mistake=INVERTED))
    assert cause.shown.aspect is Aspect.VALUES
    assert one_cause(gradients).sentence == "the gradient of Q"


def test_failures_that_stay_after_the_change_of_a_line_are_a_cause_of_their_own():
    """They share it with each other, whatever numbers they tell, and not with the rest."""
    stays = "the result is {0}: {0}1 was expected\n" + f"{STAYS_WRONG}a.py:1, which fixes others."
    apart = [
        failed("run_mask", f"test_{n}", message=stays.format(n), mistake=INVERTED, places=(LINE,))
        for n in (1, 2)
    ]
    one_cause(*(dataclasses.replace(test, mistake=None) for test in apart))
    fixed = failed("run_mask", message="the result is 3: 4 was expected", places=(LINE,))
    bare = [dataclasses.replace(test, mistake=None, places=()) for test in apart]
    assert [len(cause.tests) for cause in causes([fixed, *bare], ORDER)] == [1, 2]


def test_two_causes_never_have_the_same_headline():
    """A reader could not tell two such causes apart."""
    other = "every value is wrong\n4 of 4 values in the result[1] are wrong; the worst is off by 1"
    one_cause(failed("run_mask"), failed("run_mask", "test_again", message=other))


def test_the_same_error_in_two_exercises_is_one_cause_with_two_places():
    """A line that appears twice in a program is wrong twice."""
    said = "IndexError: Dimension out of range (a.py:{})\n    return x.sum(dim=3)"
    raised = [
        failed(name, status=Status.ERROR, message=said.format(line), places=(("a.py", line),))
        for name, line in zip(ORDER, (3, 9), strict=False)
    ]
    assert one_cause(*raised).headline == (
        "run_mask: IndexError: Dimension out of range (a.py:3; a.py:9)"
    )


def test_the_same_fault_in_a_dependent_exercise_is_no_second_cause():
    """A loop in a shared function counts once; wrong values explain no loop, nor it them."""
    builds_on = {"run_attention": ["run_weights"]}
    loop = {"message": "makes more torch operations", "aspect": Aspect.EFFICIENCY}
    one_cause(failed("run_weights", **loop), failed("run_attention", **loop), builds_on=builds_on)
    values = [failed("run_weights", **loop), failed("run_attention")]
    assert len(causes(values, ORDER, builds_on)) == 2
    work = [failed("run_weights"), failed("run_attention", **loop)]
    assert len(causes(work, ORDER, builds_on)) == 2


def test_wrong_answers_of_dependent_exercises_share_the_cause_of_the_root():
    """A mistake, a line or an exception that is known of an exercise makes a cause of its own."""
    builds_on = {"run_weights": ["run_mask"], "run_attention": ["run_weights"]}
    cause = one_cause(
        failed("run_mask"), failed("run_weights"), failed("run_attention"), builds_on=builds_on
    )
    assert cause.shown.exercise == "run_mask"
    named = [failed("run_mask"), failed("run_weights", mistake=INVERTED)]
    assert len(causes(named, ORDER, builds_on)) == 2


def test_wrong_answers_join_the_known_cause_of_the_same_exercise():
    """One plain case without a proof does not make another cause of the same line."""
    cause = one_cause(failed("run_mask"), failed("run_mask", "test_again", places=(LINE,)))
    assert cause.shown.places == (LINE,)
    deeper = {"places": (LINE,), "aspect": Aspect.GENERALITY}
    assert len(causes([failed("run_mask"), failed("run_mask", "test_deep", **deeper)])) == 2


def test_needless_work_and_manners_are_no_wrong_answers():
    """A strided input whose result is wrong follows from wrong values. Needless work comes last."""
    known = failed("run_weights", mistake=INVERTED)
    strided = failed("run_weights", "test_strided", aspect=Aspect.DISCIPLINE)
    work = failed("run_weights", "test_work", aspect=Aspect.EFFICIENCY, message="makes 455 steps")
    written = failed("run_weights", "test_own", aspect=Aspect.DISCIPLINE, message="writes into Q")
    below = dataclasses.replace(work, exercise="run_attention")
    found = causes(
        [known, strided, work, written, below], ORDER, {"run_attention": ["run_weights"]}
    )
    told = [[test.id.rpartition("::")[2] for test in cause.tests] for cause in found]
    assert told == [["test_it", "test_strided"], ["test_own"], ["test_work", "test_work"]]


def test_an_exception_is_no_reason_for_wrong_values_elsewhere():
    """The tests that were wrong did not raise."""
    raised = failed(
        "run_weights", status=Status.ERROR, message="AssertionError: too short", places=(LINE,)
    )
    assert len(causes([raised, failed("run_weights", "test_other")], ORDER)) == 2


def test_tests_skipped_after_repeated_crashes_have_no_cause_of_their_own():
    """The function ended its process twice, and that crash is the cause."""
    said = {"status": Status.CRASHED, "message": "run_mask(...) ended its process (SIGABRT)"}
    again = f"run_mask was not called again after this happened twice: {said['message']}"
    one_cause(failed("run_mask", **said), failed("run_mask", "test_b", **said | {"message": again}))


def test_an_undefined_name_is_one_cause_however_many_lines_use_it():
    """A forgotten import shows up wherever the name is used."""
    said = "NameError: name 'math' is not defined (a.py:{})"
    cause = one_cause(
        *(
            failed(name, status=Status.ERROR, message=said.format(line), places=(("a.py", line),))
            for name, line in zip(ORDER, (3, 9, 27), strict=True)
        )
    )
    assert cause.headline == (
        "run_mask: NameError: name 'math' is not defined (a.py:3; a.py:9; a.py:27)"
    )


def test_candidate_lines_of_one_cause_are_joined_with_or():
    """The word "or" tells these lines from lines that are all wrong."""
    cause = one_cause(failed("run_mask", places=(LINE, ("assignment/warmup.py", 26), ("a.py", 2))))
    assert cause.lines == "assignment/warmup.py:25 or assignment/warmup.py:26 or a.py:2"


def test_missing_exercises_are_one_cause_at_the_end():
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


def test_a_headline_has_the_line_unless_its_sentence_names_that_line():
    """A place is not named by a longer line number that begins like it."""
    for other, is_there in (("a.py:12", False), ("a.py:1", True)):
        cause = one_cause(failed("run_mask", message=f"see {other}", places=(("a.py", 1),)))
        assert cause.headline == f"run_mask: see {other}" + " (a.py:1)" * (not is_there)


def test_headlines_keep_the_capitals_of_names_and_symbols():
    """After a colon only an ordinary word begins in lower case."""
    for explanation, begins in (("RoPE is", "RoPE"), ("A mask", "a mask"), ("Q and K", "Q and")):
        named = dataclasses.replace(INVERTED, explanation=explanation)
        headline = one_cause(failed("run_mask", mistake=named)).headline
        assert headline.startswith(f"run_mask: {begins}")


def test_a_stored_verdict_gives_the_same_headline():
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
    assert one_cause(FailedTest.of(verdict)).headline == (
        "run_mask: your mask works the wrong way round: what it allows is hidden "
        "(assignment/warmup.py:25)"
    )


def test_wrong_answers_about_different_texts_are_one_cause():
    """Each case draws its own text, as in `what=f"encode({text!r})"`, and quotes its own answer."""
    one_cause(
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


def test_timeouts_by_wall_clock_and_processor_time_are_one_cause():
    """On a busy machine either clock may run out first."""
    by = ("30 seconds by the clock", "10 seconds of processor time")
    said = [f"run_mask(...) took longer than {limit} and was stopped" for limit in by]
    one_cause(*(failed("run_mask", one, status=Status.TIMEOUT, message=one) for one in said))


def test_tests_without_time_left_belong_to_the_cause_that_hung():
    """The line that hung is the one to fix, whichever exercise it belongs to."""
    late = {
        "status": Status.TIMEOUT,
        "message": "the submission's 120 seconds were used up before this test",
    }
    hung = {"status": Status.TIMEOUT, "message": "after 10 s still running a.py:3"}
    cause = one_cause(
        failed("run_mask", places=(("a.py", 3),), **hung),
        failed("run_weights", places=(("a.py", 3),), **late),
        failed("run_rope", **late),
    )
    assert cause.sentence == hung["message"]


def test_missing_exercises_count_tests_and_not_failures():
    """A test of a missing exercise has not failed yet."""
    missing = [failed(name, status=Status.MISSING, message="") for name in ORDER[:2]]
    assert one_cause(*missing).extent == "2 tests in 2 exercises"
