"""Values of every type, in both directions: a message gives the place of what is wrong in one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader import Grade, batch
from grader.core.verdict import Status
from grader.results.store import Store
from tests.harness.marks import asked_for, rest_slow

pytestmark = pytest.mark.process

ASSIGNMENT = Path(__file__).parents[1] / "kinds_of_values"
RIGHT = (ASSIGNMENT / "solutions" / "__init__.py").read_text("utf-8")

RAISED = (
    *("has no attribute", "is not callable", "unexpected keyword", "FileNotFoundError"),
    *("KeyError", "its temporary folder", "division by zero", "File too large"),
)
OBJECTS = ("tokenizer", "optimizer_class")
LINK = "Path(path).unlink(); Path(path).symlink_to('/etc/passwd')"
FLOOD = "\n    with open(path, 'wb') as file:\n        while True: file.write(bytes(1 << 20))"
COURSES = "from adapters import Split"
OWN = 'from collections import namedtuple; Split = namedtuple("Split", "train rest share")'

# A function, its wrong result, and words of the message.
WRONG = [
    ("counts", "return list(right)", "must return a dict from strs to ints, not a list of"),
    ("counts", "return {}", "has 0 keys, where"),
    ("counts", "return right | {'z': 1}", "'z' too much"),
    ("counts", "return {k: float(n) for k, n in right.items()}", "must be an int, not the float"),
    ("counts", "return {key: n + 1 for key, n in right.items()}", "result['"),
    ("counts", "return {key.encode(): n for key, n in right.items()}", "the key b'"),
    ("counts", "return right.items()", "not an object of type dict_items"),
    ("tokens", "return (n for n in right)", "not an iterator of type generator"),
    ("tokens", "return tuple(right)", "must return a list of ints, not a tuple of"),
    ("tokens", "return right[:-1]", "has 2 elements, where 3 were expected"),
    ("tokens", "return [*right, 7]", "7 at [3] is too much"),
    ("tokens", "return torch.tensor(right)", "must return a list of ints, not a tensor of shape"),
    ("tokens", "return [1 << 70]", "[0] must be an int, not an int of more than 64 bits"),
    ("tokens", "right[1] = (right[1] + 1) % 256; return right", "result[1] is"),
    ("tokens", "loop = []; loop.append(loop); return loop", "[0] must be an int, not a list of 1"),
    ("pairs", "return [list(pair) for pair in right]", "[0] must be a tuple (an int, an int)"),
    ("pairs", "return [(*pair, 0) for pair in right]", "[0] must be a tuple (an int, an int)"),
    ("pairs", "return [pair[::-1] for pair in right]", "result[0][0] is"),
    ("pairs", "return right * 100_000", "too large"),
    ("split", "return right[:2]", "must return a Split (train, rest, share)"),
    ("split", "return right._replace(share=1)", "share"),
    ("split", "return right._replace(train=right.rest)", "result.train has shape"),
    ("split", "return right._replace(rest=right.rest[::-1].copy())", "values in result.rest"),
    ("split", "return right._replace(train=torch.ones(3))", ".train must be an integer numpy"),
    ("split", "return right._replace(train=right.train / 1.0)", ".train must be an integer numpy"),
    ("layers", "return right[0]", "must return a tuple (a floating-point tensor"),
    ("layers", "return right[0], {'scale': weights['scale']}", "'shift' missing"),
    ("layers", "return right[0][0], right[1]", "which is [3, 4], not [4]"),
    ("layers", "return right[0] + 1, right[1]", "result[0]"),
    ("layers", "return right[0].half(), right[1]", "float16"),
    ("layers", "given['x'].add_(1); return right", "changes its input x"),
    ("layers", "weights['shift'] = 1; return right", "changes its input weights"),
    ("layers", "weights['more'] = 1; return right", "changes its input weights"),
    ("vocabulary", "return {word.decode() for word in right}", "an element of it must be bytes"),
    ("vocabulary", "return set(list(right)[1:])", "has 3 elements, where 4 were expected"),
    ("vocabulary", "return {word[:-1] for word in right}", "has another element than expected"),
    ("rate", "return str(right)", "must return a float, not the str"),
    ("rate", "return right * 1.01", "off by"),
    ("rate", "return None", "must return a float, not None"),
    ("precision", "return str(right[0]), right[1]", "[0] must be a dtype, not the str"),
    ("precision", "return torch.float64, right[1]", "result[0] is torch.float64"),
    ("precision", "return right[0], not right[1]", "result[1] is"),
    ("merges", "return right[::-1]", "result[0] is b'"),
    ("merges", "return [bytearray(one) for one in right]", "[0] must be bytes, not"),
    ("merges", "return [one[:1] for one in right]", "result[0] is b'"),
    ("gains", "return right or []", "the result is a list, where None was expected"),
    ("gains", "return None", "the result is None, where a list was expected"),
    ("gains", "return right and [-one for one in right]", "result[0]"),
    ("gains", "return right and [float('nan') for _ in right]", "result[0]"),
    ("gains", "return right and [str(one) for one in right]", "[0] must be a float, not the str"),
    ("tokenizer", "return 7", "must return a Tokenizer (encode(), encode_each(), decode(), size)"),
    ("tokenizer", "right.encode = lambda text: text; return right", "encode must return a list of"),
    ("tokenizer", "right.size += 1; return right", "the result is 10"),
    ("tokenizer", "del Tokenizer.decode; return right", "has no attribute 'decode'"),
    ("tokenizer", "right.decode = lambda ids: 'x'; return right", "the result is 'x'"),
    ("tokenizer", "right.encode_each = lambda texts: [99, 0]; return right", "result[0] is 99"),
    ("tokenizer", "right.encode_each = lambda texts: iter([1, 'b']); return right", "must be an"),
    ("tokenizer", "right.encode_each = lambda texts: iter([[1], [2]]); return right", "yield from"),
    ("tokenizer", "right.encode_each = lambda texts: None; return right", "an iterator over"),
    ("optimizer_class", "return right([], 0.1, 0.9)", "is not callable"),
    ("optimizer_class", "right.step = lambda self: None; return right", "after step 1"),
    ("optimizer_class", "right.__init__ = lambda *_: None; return right", "unexpected keyword"),
    ("primes", "return (number + 1 for number in right)", "result[0] is"),
    ("primes", "return itertools.islice(right, 2)", "has 2 elements, where 7 were expected"),
    ("primes", "return [next(right), next(right)]", "has 2 elements, where 7 were expected"),
    ("primes", "return itertools.count()", "result[0] is 0"),
    ("clipping", "[p.grad.neg_() for p in parameters[:-1]]", "values in the gradient are wrong"),
    ("clipping", "parameters[0].grad = None", "the gradient is None, where a tensor of shape"),
    ("clipping", "parameters[0].data = parameters[0].grad = torch.ones(1)", "has shape [1]"),
    ("clipping", "parameters[-1].grad.mul_(2)", "has no attribute 'mul_'"),
    ("save", "Path(str(out)).unlink(missing_ok=True)", "FileNotFoundError"),
    ("save", "torch.save({}, out)", "KeyError: 'model'"),
    ("save", "Path('/tmp/elsewhere').write_text('x')", "writes to its temporary folder"),
    ("load", "return '17'", "run_load must return an int, not the str '17'"),
    ("load", "return right + 1", "the first compared value is"),
    ("load", "model[0].weight.data.zero_(); return right", "values in ['0.weight'] of"),
    ("load", "optimizer.state.clear(); return right", " missing"),
    ("load", "optimizer.step = lambda: 1 / 0; return right", "division by zero"),
    ("load", "model.state_dict = lambda: {'a': 1}; return right", "['a'] must be a tensor"),
    ("load", "type(model).forward = lambda *_: 'lies'; return right", "must return a tensor"),
    ("most_common", "Path(path).write_text('x'); return right", "the corpus was written to"),
    ("most_common", "Path(path).unlink(); return right", "there is no corpus.txt afterwards"),
    ("most_common", f"{LINK}; return right", "corpus.txt is something else afterwards"),
    ("most_common", "Path(path).unlink(); Path(path).mkdir(); return right", "something else"),
    ("most_common", "Path(path).write_bytes(b'\\xff'); return right", "not text in UTF-8: byte 0"),
    ("most_common", FLOOD, "File too large"),
    ("lengths", "return (number + 1 for number in right)", "result[0] is"),
    ("lengths", "list(right); return iter(())", "has 0 elements, where 12 were expected"),
    ("windows", "return right[:, :1].expand(-1, length)", "values in the result are wrong"),
    ("windows", "return right[:1].expand(count, -1)", "do not occur as often as they should"),
    ("windows", "return right_run_windows(corpus[:-1], length, count)", "do not occur as often"),
    ("windows", "torch.manual_seed(0); return right_run_windows(**given)", "all calls draw"),
    ("windows", "return right[:, 1:]", "must return shape (count length)"),
    ("training", "return (loss / 2 for loss in right)", "[0] of the first compared value"),
    ("training", "next(right); return right", "[0] of the first compared"),
    ("training", "optimizer.zero_grad = lambda: None; return right", "[2] of the first"),
    ("training", "return itertools.islice(right, 3)", "has 3 elements, where 8 were expected"),
    ("training", "return [next(right) for _ in range(9)]", "['weight'] of the second"),
]  # fmt: skip

# Functions in other styles that are right too.
ALSO_RIGHT = [
    ("windows", "return torch.stack([corpus[n : n + length] for n in numpy.random.randint("
     "len(corpus) - length + 1, size=count)])"),
    ("windows", "return torch.stack([corpus[n : n + length] for n in numpy.random.default_rng()"
     ".integers(len(corpus) - length, size=count, endpoint=True)])"),
    ("windows", "return torch.stack([corpus[n : n + length] for n in random.choices("
     "range(len(corpus) - length + 1), k=count)])"),
    ("lengths", "return list(right)"),
    ("lengths", "return map(int, right)"),
    ("most_common", "return tuple(right)"),
    ("training", "return (float(loss) for loss in right)"),
    ("clipping", "return 1.5"),
    ("optimizer_class", "step = right.step; right.step = lambda self: step(self) or 1.5; "
     "return right"),
    ("save", "Path('log.txt').write_text('saved'); return out"),
]  # fmt: skip


OTHERS = {
    f"{kind}-{number:02}-{row[0]}": (*row, "")[:3]
    for kind, rows in (("wrong", WRONG), ("right", ALSO_RIGHT))
    for number, row in enumerate(rows)
}


def wrong_program(function: str, body: str) -> str:
    """Returns the right program, with one function that changes its right result."""
    name = f"get_{function}" if function in OBJECTS else f"run_{function}"
    return (
        f"import random\nimport numpy\n{RIGHT}\n\nright_{name} = {name}\n\n\ndef {name}(**given):\n"
        f"    globals().update(given)\n    right = right_{name}(**given)\n    {body}\n"
    )


@pytest.fixture(scope="module")
def grades(request, tmp_path_factory) -> Mapping[str, Grade]:
    """The grades of the right program and of each other program that a selected test needs."""
    folder = tmp_path_factory.mktemp("values")
    programs = {"right": RIGHT}
    for name in asked_for(request, "name"):
        programs[name] = wrong_program(*OTHERS[name][:2])
    for name, program in programs.items():
        submission = folder / "class" / name
        submission.mkdir(parents=True)
        program = program.replace(
            "from adapters import Split", "from collections import namedtuple"
        )
        split = 'Split = namedtuple("Split", "train rest share")'
        (submission / "adapters.py").write_text(f"{program}\n\n{split}\n", "utf-8")
    batch(folder / "class", out=folder / "out", assignment=ASSIGNMENT, seed=3)
    return {grade.submission: grade for grade in Store.read(folder / "out").grades()}


def test_right_programs_get_full_marks(grades):
    """Dicts, bytes, named tuples of arrays, sets, dtypes and None cross in both directions."""
    right = grades["right"]
    assert [test for test in right.tests if test.status is not Status.PASSED] == []
    assert right.score == right.max_score


@pytest.mark.parametrize("name", [name for name in OTHERS if name.startswith("right")])
def test_a_right_program_in_another_style_passes(grades, name):
    """For example numpy's random numbers, or lists in place of iterators."""
    tests = grades[name].tests
    assert [test.message for test in tests if test.status is not Status.PASSED] == []


@pytest.mark.parametrize(
    "name", rest_slow([name for name in OTHERS if name.startswith("wrong")], 18)
)
def test_a_message_gives_the_place_of_a_wrong_value(grades, name):
    """Only the wrong function's own exercise fails."""
    function, _, says = OTHERS[name]
    wrong = [test for test in grades[name].tests if test.status is not Status.PASSED]
    # The tests check saved files by loading them, and loading by saving first.
    failed = {test.exercise.partition("_")[2] for test in wrong}
    assert failed
    assert failed <= ({"save", "load"} if function in ("save", "load") else {function})
    raises = any(one in says for one in RAISED)
    assert {test.status for test in wrong} == {Status.ERROR if raises else Status.FAILED}
    assert any(says in (test.message or "") for test in wrong), [test.message for test in wrong]


IN_PLACE_ON_A_LEAF = """

class Descent:
    def __init__(self, parameters, rate, momentum):
        self.parameters, self.rate = list(parameters), rate

    def step(self):
        for parameter in self.parameters:
            if parameter.grad is None:
                continue
            parameter -= self.rate * parameter.grad


def get_optimizer_class():
    return Descent
"""


def test_an_edit_that_only_stops_an_exception_proves_no_line(tmp_path):
    """A step returns None in any case, so an edit that skips all parameters proves nothing."""
    submission = tmp_path / "class" / "one"
    submission.mkdir(parents=True)
    program = RIGHT.replace("from adapters import Split", "from collections import namedtuple")
    program += '\n\nSplit = namedtuple("Split", "train rest share")\n' + IN_PLACE_ON_A_LEAF
    (submission / "adapters.py").write_text(program, "utf-8")
    batch(tmp_path / "class", out=tmp_path / "out", assignment=ASSIGNMENT, seed=3)
    (grade,) = Store.read(tmp_path / "out").grades()
    wrong = [test for test in grade.tests if test.status is not Status.PASSED]
    assert {(test.exercise, test.status) for test in wrong} == {
        ("get_optimizer_class", Status.ERROR)
    }
    assert not [test.message for test in wrong if "Changing" in (test.message or "")]


def test_the_right_program_passes_all_tests_at_home(grader, home_pytest, tmp_path):
    """The frozen fixtures also hold values of every type."""
    handout = tmp_path / "handout"
    done = grader("handout", handout, cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stderr
    (handout / "assignment" / "__init__.py").write_text(
        re.sub("def (run|get)_", "def ", RIGHT)
        .replace("from adapters import Split", "import adapters")
        .replace("Split(", "adapters.Split("),
        "utf-8",
    )
    assert "30 passed" in home_pytest(handout).stdout
    shutil.rmtree(handout / "assignment" / "__pycache__", ignore_errors=True)
