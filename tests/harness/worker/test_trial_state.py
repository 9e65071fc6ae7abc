"""The state of a program between trials: what is restored, what changed, and which line did it."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.trials import Passed, Trials
from grader.worker.trials import memory
from grader.worker.trials.memory import State, modules_below
from grader.worker.trials.trials import Trying
from tests.harness.loaded_programs import Loaded, edit, loading, trying

pytestmark = pytest.mark.unit

X = torch.tensor([1.0, 2.0])
BEFORE = """
import functools, types
from collections import deque
import torch
NUMBER = 1
TABLE = {"a": [1]}
ITEMS, SEEN, QUEUE = [1], {1}, deque([1])
NESTED = ([1], {"b": {"c": [2]}})
TENSOR = torch.ones(2)
SPACE = types.SimpleNamespace(size=1)
LAYER = torch.nn.Linear(1, 1)
class Own:
    made = 0
    def __init__(self): self.size = 1
OWN = Own()
def counted(step=[1], *, more={"d": 1}):
    return step, more
def closed():
    count = 0
    def add():
        nonlocal count
        count += 1
        return count
    return add
def forgetful():
    kept = 1
    def forget():
        nonlocal kept
        del kept
    return forget
ADD, FORGET = closed(), forgetful()
counted.calls = 0
@functools.lru_cache
def cached(n): return n
def run_x(x): return x
"""
CHANGES = {
    "a name": "m.NUMBER = 2",
    "a new name": "m.NEW = 2",
    "a name that is gone": "del m.NUMBER",
    "a dict": "m.TABLE['b'] = 1",
    "an inner list": "m.TABLE['a'].append(2)",
    "a list": "m.ITEMS.clear()",
    "a set": "m.SEEN.add(2)",
    "a deque": "m.QUEUE.append(2)",
    "a list in a tuple": "m.NESTED[0].append(2)",
    "a list deep inside": "m.NESTED[1]['b']['c'].append(3)",
    "a tensor": "m.TENSOR.add_(1)",
    "a tensor's memory": "m.TENSOR.data = m.torch.zeros(2)",
    "a namespace": "m.SPACE.size = 2",
    "a parameter": "m.LAYER.weight.data.add_(1)",
    "an attribute of a module": "m.LAYER.more = 3",
    "an attribute of an object": "m.OWN.size = 2",
    "a new attribute of an object": "m.OWN.more = 2",
    "an attribute of a class": "m.Own.made = 2",
    "a new attribute of a class": "m.Own.more = 2",
    "a default": "m.counted()[0].append(2)",
    "a default of a keyword": "m.counted()[1]['d'] = 2",
    "a closure": "m.ADD()",
    "a variable of a closure that is gone": "m.FORGET()",
    "an attribute of a function": "m.counted.calls = 1",
    "a cache": "m.cached(3)",
    "a setting": "m.torch.set_default_dtype(m.torch.float64)",
    "gradients": "m.torch.set_grad_enabled(False)",
    "a default device": "m.torch.set_default_device('meta')",
    "autocast": "m.torch.set_autocast_enabled('cpu', True)",
    "anomalies": "m.torch.autograd.set_detect_anomaly(True)",
}
SHOWN = (
    "sorted(k for k in vars(m) if k != '__builtins__'), vars(m).get('NUMBER'), m.TABLE, m.ITEMS,"
    " m.SEEN,"
    " m.QUEUE, m.NESTED, m.TENSOR.tolist(), m.SPACE.size, m.LAYER.weight.tolist(),"
    " sorted(vars(m.LAYER)), vars(m.OWN), m.Own.made, hasattr(m.Own, 'more'), m.counted(),"
    " vars(m.counted), m.cached.cache_info().currsize, m.ADD.__closure__[0].cell_contents,"
    " m.torch.get_default_dtype(), m.torch.is_grad_enabled(), m.torch.get_default_device(),"
    " m.torch.is_autocast_enabled('cpu'), m.torch.is_anomaly_enabled(),"
    " repr(m.FORGET.__closure__[0])"
)


@pytest.fixture
def loaded(tmp_path, monkeypatch) -> Iterator[Loaded]:
    """A function that loads a program as a module."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with loading(tmp_path) as load:
        yield load


@pytest.fixture
def stateful(loaded, tmp_path) -> Iterator[tuple[types.ModuleType, State]]:
    """A module with all kinds of state, as it was loaded."""
    module = loaded(BEFORE)
    functions = [one for one in vars(module).values() if isinstance(one, types.FunctionType)]
    root = f"{tmp_path}{os.sep}"
    state = State(root, modules_below(root), functions)
    yield module, state
    state.restore()
    torch.set_default_device(None)


def shown(module: types.ModuleType) -> str:
    return repr(eval(SHOWN, {"m": module}))


@pytest.mark.parametrize("name", CHANGES)
def test_each_part_of_the_state_is_restored(stateful, name):
    module, state = stateful
    before = shown(module)
    exec(CHANGES[name], {"m": module})
    assert shown(module) != before
    state.restore()
    assert shown(module) == before


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told_and_undone_alone(stateful, name):
    """Another one stays."""
    module, state = stateful
    before = shown(module)
    assert list(state.changes()) == []
    exec(CHANGES[name], {"m": module})
    (change,) = list(state.changes())
    held = change.look()
    change.undo()
    assert shown(module) == before
    assert change.look() != held
    assert list(state.changes()) == []
    if name == "a cache":
        line = BEFORE.split("\n").index("@functools.lru_cache") + 1
        assert change.line == (module.__file__, line)
    else:
        assert change.line is None


def test_several_changes_are_undone_one_by_one(stateful):
    module, state = stateful
    module.NUMBER, module.NEW = 2, 3
    module.ITEMS.append(2)
    changes = list(state.changes())
    assert len(changes) == 3
    changes[0].undo()
    assert (module.NUMBER, module.NEW, module.ITEMS) == (1, 3, [1, 2])
    assert len(list(state.changes())) == 2


def test_the_last_name_may_be_another_one_for_the_same_object(stateful):
    module, state = stateful
    module.renamed = vars(module).pop("run_x")
    assert len(list(state.changes())) == 2
    state.restore()
    assert (hasattr(module, "renamed"), hasattr(module, "run_x")) == (False, True)


def test_names_that_python_sets_are_no_change(stateful):
    module, state = stateful
    module.__warningregistry__ = {}
    assert list(state.changes()) == []


def test_objects_that_equal_each_other_are_still_changes(stateful):
    """True equals 1, and may behave differently."""
    module, state = stateful
    module.ITEMS[0] = True
    (change,) = state.changes()
    change.undo()
    assert module.ITEMS[0] is not True


def test_wide_containers_and_large_tensors_are_not_looked_into(loaded, tmp_path, monkeypatch):
    """They hold data rather than objects with state."""
    monkeypatch.setattr(memory, "_MOST_NUMBERS", 4)
    module = loaded(
        """
        import torch
        WIDE = [[0] for _ in range(501)]
        NARROW = [[0] for _ in range(500)]
        FIRST, LARGE, SECOND = torch.zeros(3), torch.zeros(2), torch.zeros(1)
        DEEP = [[[[[[[0]]]]]]]
        def run_x(x): return x
        """
    )
    root = f"{tmp_path}{os.sep}"
    state = State(root, modules_below(root))
    for one in (module.WIDE[0], module.NARROW[0], module.FIRST, module.LARGE, module.SECOND):
        one += [1] if isinstance(one, list) else 1
    sixth = module.DEEP[0][0][0][0][0]
    sixth.append(1)
    sixth[0].append(1)
    state.restore()
    assert (module.WIDE[0], module.NARROW[0]) == ([0, 1], [0])
    assert [one.tolist() for one in (module.FIRST, module.LARGE, module.SECOND)] == [
        [0, 0, 0],
        [1, 1],
        [0],
    ]
    assert sixth == [[0, 1]]


def test_odd_objects_of_a_student_do_not_stop_the_trials(loaded, tmp_path):
    """Attributes and methods may have the names of those of a dict, and any look may raise."""
    module = loaded(
        """
        import collections, torch
        class Options(dict):
            def __init__(self, **options):
                super().__init__(options)
                self.__dict__ = self
        class Counts(dict):
            def update(self, words):
                for word in words:
                    self[word] = self.get(word, 0) + 1
        class Broken:
            __slots__ = ()
            def __getattr__(self, name):
                raise KeyError(name)
        LAZY, BROKEN = torch.nn.LazyLinear(4), Broken()
        OPTIONS = Options(update=1, copy=2, clear=3, values=4, items=5, get=6, pop=7)
        COUNTS, LETTERS = Counts(a=7), collections.Counter("aab")
        ORDER = collections.OrderedDict(a=1, b=2)
        def run_x(x): return x
        """
    )
    state = State(f"{tmp_path}{os.sep}", modules_below(f"{tmp_path}{os.sep}"))
    before = repr([dict(module.OPTIONS), dict(module.COUNTS), module.LETTERS, module.ORDER])
    assert list(state.changes()) == []
    module.OPTIONS["update"], module.OPTIONS["more"] = 8, 9
    module.COUNTS["b"] = 1
    module.LETTERS["c"] += 1
    module.ORDER.move_to_end("a")
    assert {type(change.look()) for change in state.changes()} <= {int, list}
    state.restore()
    after = repr([dict(module.OPTIONS), dict(module.COUNTS), module.LETTERS, module.ORDER])
    assert after == before
    assert list(state.changes()) == []


def test_only_modules_below_the_root_are_found(loaded, tmp_path):
    module = loaded("x = 1\n")
    assert modules_below(f"{tmp_path}{os.sep}") == [module]
    assert modules_below(f"{tmp_path}x{os.sep}") == []


# --- Trials --------------------------------------------------------------------------------------


def test_an_edit_is_dropped_at_a_call_that_it_does_not_change(loaded, tmp_path):
    """Answers to calls that need not change are told anyway."""
    module = loaded("def run_x(x):\n    return x * (3 if len(x) > 1 else 5)\n")
    calls = [Call("run_x", {"x": one}) for one in (X, X[:1])]
    edits = [edit(module, ("3", "2")), edit(module, ("5", "4")), edit(module, ("3", "object()"))]
    one = trying(module, tmp_path)
    outcomes = one.perform(Trials(calls, 1, edits, 30.0))
    assert {key: outcomes.of(*key).tolist() for key in outcomes.given} == {
        (0, 0): [2, 4],
        (0, 1): [5],
    }
    assert outcomes.tried == 3
    both = one.perform(Trials(calls, 2, edits, 30.0))
    assert set(both.given) == {(0, 0)}
    none = one.perform(Trials(calls, 0, edits, 30.0))
    assert set(none.given) == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)}
    control = one.perform(Trials(calls, 0, [{}], 30.0))
    assert [control.of(0, place).tolist() for place in (0, 1)] == [[3, 6], [5]]


def test_edits_that_would_begin_too_late_are_left_out(loaded, tmp_path):
    module = loaded("def run_x(x):\n    return x * 3\n")
    now = iter([0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0])
    adapters = {"run_x": module.run_x}
    one = Trying(adapters, tmp_path, clock=lambda: next(now))
    edits = [edit(module, ("3", str(number))) for number in (4, 5, 6)]
    outcomes = one.perform(Trials([Call("run_x", {"x": X})], 1, edits, 1.0))
    assert outcomes.tried == 2


def test_an_edit_stays_until_the_next_trials(loaded, tmp_path):
    module = loaded("def run_x(x):\n    return x * 3\n")
    one, trials = (
        trying(module, tmp_path),
        Trials([], 0, [edit(module, ("3", "2"))], 9.0, stays=True),
    )
    assert one.perform(trials).tried == 1
    assert module.run_x(1) == 2
    bad = Trials([], 0, [edit(module, ("* 3", "*"))], 9.0, stays=True)
    assert one.perform(bad).tried == 0
    assert module.run_x(1) == 3


STATEFUL = """
SEEN = []
TOTAL = 0
def run_x(x):
    global TOTAL
    SEEN.append(1)
    TOTAL += 1
    return x * len(SEEN) + 10 * TOTAL
"""


def test_calls_in_one_state_are_repeated_with_each_change_undone(loaded, tmp_path):
    """The outcomes name the line that made each change."""
    module = loaded(STATEFUL)
    call = Call("run_x", {"x": torch.tensor([1.0])})
    one = trying(module, tmp_path)
    outcomes = one.perform(Trials([call, call], 0, [], 30.0, told=[1]))
    found = {key: outcomes.of(*key).item() for key in outcomes.given}
    assert found == {(0, 1): 22.0, (1, 1): 12.0, (2, 1): 21.0}
    file = Path(str(module.__file__)).name
    assert outcomes.passed == (Passed(file, (7,)), Passed(file, (6,)))
    assert (module.SEEN, module.TOTAL) == ([], 0)
    both = one.perform(Trials([call, call], 0, [], 30.0, told=[0, 1]))
    assert both.of(0, 0).item() == 11.0


def test_a_change_that_two_lines_make_has_no_certain_line(loaded, tmp_path):
    program = "SEEN = []\ndef run_x(x):\n    SEEN.append(1)\n    SEEN.append(2)\n    return x\n"
    call = Call("run_x", {"x": X})
    outcomes = trying(loaded(program), tmp_path).perform(Trials([call], 0, [], 30.0, told=[0]))
    assert outcomes.passed == (Passed("", ()),)


def test_a_cache_is_changed_by_the_function_that_has_it(loaded, tmp_path):
    program = (
        "import functools\n@functools.lru_cache\ndef by(n): return n\n"
        "def run_x(x):\n    return x * by(2)\n"
    )
    module = loaded(program)
    call = Call("run_x", {"x": X})
    outcomes = trying(module, tmp_path).perform(Trials([call], 0, [], 30.0, told=[0]))
    assert outcomes.passed == (Passed(Path(module.__file__).name, (2,)),)


def test_lines_of_the_first_calls_are_followed(loaded, tmp_path):
    module = loaded("def run_x(x):\n    if len(x) > 1:\n        return x\n    return 2 * x\n")
    calls = [Call("run_x", {"x": one}) for one in (X, X[:1])]
    one = trying(module, tmp_path)
    for follow, lines in ((0, None), (1, (2, 3)), (2, (2, 3, 4))):
        passed = one.perform(Trials(calls, 0, [], 30.0, follow=follow)).passed
        assert [part.lines for part in passed] == ([lines] if lines else [])


def test_an_unknown_adapter_or_a_large_answer_has_no_answer(loaded, tmp_path):
    program = "def run_x(x):\n    return x * 3\ndef run_y(x):\n    return x.repeat(1 << 13)\n"
    module = loaded(program)
    one, control = trying(module, tmp_path), [{}]
    for adapter, value, has_one in (
        ("run_x", X, True),
        ("run_z", X, False),
        ("run_y", X, True),
        ("run_y", X.repeat(2), False),
    ):
        outcomes = one.perform(Trials([Call(adapter, {"x": value})], 0, control, 30.0))
        assert bool(outcomes.given) is has_one, adapter
    script = Call("run_x", {"x": X}, then=(Step(0, Doing.CALL, "sum"),))
    assert one.perform(Trials([script], 0, control, 30.0)).of(0, 0).item() == 9.0
