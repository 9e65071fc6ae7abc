"""The state of a program between trials, and what is restored of it."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator

import pytest
import torch

from grader.core.wire.calls import Call
from grader.core.wire.scripts import Doing, Step
from grader.core.wire.trials import Trials
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
}
SHOWN = (
    "sorted(k for k in vars(m) if k != '__builtins__'), vars(m).get('NUMBER'), m.TABLE, m.ITEMS,"
    " m.SEEN,"
    " m.QUEUE, m.NESTED, m.TENSOR.tolist(), m.SPACE.size, m.LAYER.weight.tolist(),"
    " sorted(vars(m.LAYER)), vars(m.OWN), m.Own.made, hasattr(m.Own, 'more'), m.counted(),"
    " vars(m.counted), m.cached.cache_info().currsize, m.ADD.__closure__[0].cell_contents,"
    " m.torch.get_default_dtype(), m.torch.is_grad_enabled(), m.torch.get_default_device(),"
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


def test_the_last_name_may_be_another_one_for_the_same_object(stateful):
    module, state = stateful
    module.renamed = vars(module).pop("run_x")
    state.restore()
    assert (hasattr(module, "renamed"), hasattr(module, "run_x")) == (False, True)


def test_an_equal_object_is_replaced_by_the_first_one(stateful):
    """True equals 1, and may behave differently."""
    module, state = stateful
    module.ITEMS[0] = True
    state.restore()
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
    module.OPTIONS["update"], module.OPTIONS["more"] = 8, 9
    module.COUNTS["b"] = 1
    module.LETTERS["c"] += 1
    module.ORDER.move_to_end("a")
    state.restore()
    after = repr([dict(module.OPTIONS), dict(module.COUNTS), module.LETTERS, module.ORDER])
    assert after == before


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
    now = iter([0.0, 0.1, 0.5, 1.5])
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
    module.other = 3
    assert one.perform(Trials([], 0, [{}], 9.0, stays=True)).tried == 1
    assert not hasattr(module, "other"), "without changes, the state is restored alone"


def test_an_answer_that_shares_memory_with_the_state_is_kept(loaded, tmp_path):
    module = loaded("import torch\nKEPT = torch.zeros(2)\ndef run_x(x):\n    return KEPT.add_(x)\n")
    call = Call("run_x", {"x": X})
    outcomes = trying(module, tmp_path).perform(Trials([call, call], 0, [{}], 30.0))
    assert [outcomes.of(0, place).tolist() for place in (0, 1)] == [X.tolist()] * 2
    assert module.KEPT.tolist() == [0, 0]


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
