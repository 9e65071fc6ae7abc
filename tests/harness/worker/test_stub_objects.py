"""Stubs of absent packages, each operation by itself, and which imports get one."""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import math
import os
import pickle
import sys
import textwrap
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from grader.worker.stubs import (
    _PROGRESS,
    Phase,
    Progress,
    SilentFinder,
    Stub,
    StubFinder,
    StubModule,
    find_versions_of,
    silent_module,
    silent_stub,
)
from grader.worker.uncompiled import _as_it_is, load_no_compiler

pytestmark = pytest.mark.unit


@pytest.fixture
def phase() -> Phase:
    """The phase of the import."""
    return Phase()


@pytest.fixture
def stub(phase) -> Any:
    """The name `tools.make` of an absent package."""
    return Stub("tools.make", phase)


def is_stub(value: object, dotted: str = "tools.make") -> bool:
    return type(value) is Stub and repr(value) == f"<{dotted}, which is not installed>"


NUMBERS: dict[str, tuple[Callable[[Any], object], object]] = {
    "its length": (len, 0),
    "as an int": (int, 0),
    "as a float": (float, 0.0),
    "as an index": (lambda stub: "ab"[stub], "a"),
    "as a condition": (bool, True),
    "a look inside": (lambda stub: 3 in stub, False),
    "its items": (list, []),
    "as a path": (os.fspath, ""),
    "in a format": (lambda stub: f"{stub:.3f}|{stub}", "|"),
    "a check of a type": (lambda stub: isinstance(3, stub), False),
    "a check of a class": (lambda stub: issubclass(int, stub), False),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_an_operation_on_a_stub_has_a_harmless_result(stub, name):
    """Python demands a certain type for each."""
    use, result = NUMBERS[name]
    assert (use(stub), type(use(stub))) == (result, type(result))


@pytest.mark.parametrize(
    "use",
    [
        lambda stub: stub(3),
        lambda stub: stub(),
        lambda stub: stub(len, key=1),
        lambda stub: stub(math.sin, math.cos),
        lambda stub: stub["key"],
        lambda stub: stub + 1,
        lambda stub: 1 + stub,
        lambda stub: -stub,
        lambda stub: stub < 3,
        lambda stub: stub | stub,
        lambda stub: 3 @ stub,
        lambda stub: stub >> 1,
        lambda stub: 2 ^ stub,
        lambda stub: divmod(stub, 2),
        lambda stub: stub.__enter__(),
        copy.copy,
        copy.deepcopy,
    ],
)
def test_an_operation_on_a_stub_gives_the_stub_again(stub, use):
    """Its name stays, so that the message of a later use can tell it."""
    assert is_stub(use(stub))


def test_a_stub_hands_back_what_it_decorates(stub):
    """Only a single function or class is decorated."""

    def helper() -> None: ...

    assert stub(helper) is helper
    assert stub(int) is int
    assert stub(staticmethod(helper)).__func__ is helper
    assert is_stub(stub(helper, 3))
    assert is_stub(stub(helper, size=3))


def test_a_stub_gives_stubs_and_no_items(stub):
    """A loop over it ends at once."""
    assert is_stub(next(stub))
    assert [one for one in stub] == []


def test_a_with_block_on_a_stub_hides_no_exception(stub):
    with pytest.raises(ZeroDivisionError), stub:
        raise ZeroDivisionError


def test_attributes_of_a_stub_are_stubs_until_they_are_set(stub):
    """Names with two underscores on both sides are Python's own and are missing."""
    assert is_stub(stub.more.inner, "tools.make.more.inner")
    assert is_stub(stub._half__, "tools.make._half__")
    assert is_stub(getattr(stub, "__half"), "tools.make.__half")
    stub.more = 3
    assert stub.more == 3
    del stub.more, stub["key"]
    assert not hasattr(stub, "__wrapped__")


def test_a_class_may_have_several_absent_bases(phase):
    """One absent class is left of them; beside a class that exists, none is."""
    first, second = Stub("tools.First", phase), Stub("tools.Second", phase)
    both = type("Both", first.__mro_entries__((first, second)), {})
    assert second.__mro_entries__((first, second)) == first.__mro_entries__((first, dict)) == ()
    assert [one.__name__ for one in both.__mro__] == ["Both", "Absent", "StubBase", "object"]
    phase.is_importing = False
    both()
    with pytest.raises(AttributeError, match=r"'fit'; its base tools\.First is not installed"):
        both().fit()
    for given in (lambda: both(3), lambda: both(size=3), lambda: both()("x")):
        with pytest.raises(ModuleNotFoundError, match=r"and tools\.First is used here"):
            given()


@pytest.mark.parametrize(
    "use",
    [
        len,
        float,
        bool,
        list,
        str.format,
        lambda stub: stub(3),
        lambda stub: stub + 1,
        lambda stub: f"{stub}",
        lambda stub: stub.more,
    ],
)
def test_every_use_of_a_stub_raises_after_the_import(stub, phase, use):
    """The exception names the package and the name."""
    phase.is_importing = False
    if use is str.format:
        use = "{}".format
    with pytest.raises(ModuleNotFoundError) as caught:
        use(stub)
    assert caught.value.name == "tools"
    said = r"No module named 'tools', neither handed in nor installed, and tools.make"
    assert str(caught.value).startswith(said)


def test_an_absent_module_looks_like_a_package(phase):
    """Its names can be taken at any time, also by an import inside a function."""
    module = StubModule("tools", phase, {"version": 3})
    assert (module.__path__, module.__all__, module.__version__) == ([], [], "0.0.0")
    assert module.version == 3
    phase.is_importing = False
    assert is_stub(module.make)
    assert is_stub(getattr(module, "__half"), "tools.__half")
    assert not hasattr(module, "__wrapped__")


@pytest.mark.parametrize(
    ("bar", "items", "total", "length"),
    [
        (Progress([1, 2]), [1, 2], 2, 2),
        (Progress([1, 2], total=5), [1, 2], 5, 2),
        (Progress(iter([1, 2])), [1, 2], None, 0),
        (Progress(iter([1, 2]), total=4), [1, 2], 4, 4),
        (Progress(total=3), [], 3, 3),
        (Progress(), [], None, 0),
        (_PROGRESS["trange"](1, 3), [1, 2], 2, 2),
    ],
)
def test_a_progress_bar_passes_its_items_on(bar, items, total, length):
    """It counts them, and knows how many there are if they say so."""
    assert (bar.total, len(bar), bar.n) == (total, length, 0)
    with bar as same:
        assert same is bar
        assert [*bar] == items
    assert bar.n == len(items)
    bar.update()
    bar.update(2.5)
    assert bar.n == len(items) + 3.5
    assert bar.set_postfix(loss=1) is bar.write("text") is None
    assert not hasattr(bar, "__wrapped__")


def test_a_progress_bar_counts_an_item_after_it_was_used():
    bar = Progress("ab")
    assert [bar.n for _ in bar] == [0, 1]


def is_silent(value: object) -> bool:
    return type(value) is Stub and repr(value).endswith(", which does nothing here>")


def test_an_object_that_does_nothing_accepts_everything():
    """A logger, a run or a writer needs to do nothing while a submission is graded."""
    silent: Any = silent_stub()
    silent.size = silent["key"] = 3
    assert silent.size == 3
    assert all(map(is_silent, (silent["key"], silent.log(1), silent.more + 1)))
    assert (f"{silent.loss:.3f}", copy.copy(silent) is silent) == ("", True)
    assert all(map(is_silent, (silent(len, 1), silent(print, key=1), silent(3))))
    assert silent(textwrap.dedent) is textwrap.dedent
    assert silent(int) is int
    assert (bool(silent), list(silent), isinstance(3, silent)) == (False, [], False)
    assert is_silent(silent | None)
    assert is_silent(None | silent)
    with silent as run:
        assert run is silent
    with pytest.raises(ZeroDivisionError), silent:
        raise ZeroDivisionError
    assert not hasattr(silent, "__wrapped__")
    assert pickle.loads(pickle.dumps(silent)) == OrderedDict()
    assert repr(silent.loss) == "<stub.loss, which does nothing here>"


def test_a_class_may_derive_from_an_object_that_does_nothing():
    silent: Any = silent_stub()
    made = type("Table", silent.__mro_entries__((silent,)), {})([1], size=3)
    assert is_silent(made.add_data(1))
    assert not hasattr(made, "__wrapped__")


def test_a_silent_package_shows_no_progress():
    """Its names do nothing, except those of progress bars."""
    package = silent_module("wandb")
    assert (package.__path__, package.__all__, package.__version__) == ([], [], "0.0.0")
    assert is_silent(package.log({}))
    assert is_silent(package.init(project="x"))
    assert package.tqdm is package.tqdm_notebook is Progress
    assert not hasattr(package, "__wrapped__")
    assert is_silent(getattr(package, "__half"))


# --- Which imports get a stub --------------------------------------------------------------------


@pytest.fixture
def imported(tmp_path, monkeypatch) -> Iterator[Callable[..., tuple[ModuleType, list[str]]]]:
    """A function that imports a submission's module; returns it and the packages with stubs."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    monkeypatch.syspath_prepend(str(tmp_path))

    def import_program(source: str, root: Path = tmp_path) -> tuple[ModuleType, list[str]]:
        (tmp_path / "of_a_student.py").write_text(textwrap.dedent(source))
        importlib.invalidate_caches()
        finder = StubFinder(root, ["of_a_student", "helpers", "panda"])
        sys.meta_path.append(finder)
        return importlib.import_module("of_a_student"), [*finder.names]

    yield import_program
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    "source",
    [
        "import absent_one",
        "import absent_one.sub.more",
        "from absent_one import a",
        "from absent_one.sub import a",
        "import importlib\nimportlib.import_module('absent_one')",
        "__import__('absent_one')",
        "try:\n    import absent_one\nexcept ValueError:\n    pass",
        "try:\n    import absent_one\nexcept (ValueError, KeyError):\n    pass",
        "try:\n    import absent_one\nfinally:\n    pass",
        "try:\n    pass\nexcept ImportError:\n    pass\nimport absent_one",
        "try:\n    1 / 0\nexcept Exception:\n    import absent_one",
    ],
)
def test_an_import_that_does_not_expect_an_absence_gets_a_stub(imported, source):
    assert imported(source)[1] == ["absent_one"]


def test_all_names_of_a_known_package_are_imported_as_none(imported):
    """Learners import all names of a package, and seldom use one in an exercise."""
    source = "from tiktoken._educational import *\n\n\ndef f():\n    return Shards\n"
    module, names = imported(source)
    assert names == ["tiktoken"]
    with pytest.raises(NameError):
        module.f()


@pytest.mark.parametrize(
    "caught",
    ["", " ImportError", " (ValueError, ModuleNotFoundError)", " Exception", " BaseException"],
)
def test_an_import_that_handles_an_absence_gets_no_stub(imported, caught):
    """The code that replaces the package runs."""
    source = f"try:\n    import absent_one\nexcept{caught}:\n    absent_one = 3\n"
    module, names = imported(source)
    assert (module.absent_one, names) == (3, [])


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from absent_one import *", "absent_one"),
        ("import helprs", "helprs"),
        ("import panda.core", "panda"),
        ("import json.absent_one", "json.absent_one"),
        ("import torch.absent_one", "torch.absent_one"),
        ("import absent_one\nfrom of_another import *", "of_another"),
    ],
)
def test_an_import_of_what_no_package_has_fails(imported, source, name):
    """A star may stand for an own module; a misspelt own module is not a package."""
    with pytest.raises(ModuleNotFoundError) as caught:
        imported(source)
    assert caught.value.name == name


def test_a_look_for_a_package_finds_it_absent(imported):
    source = "import importlib.util\nfound = importlib.util.find_spec('absent_one')\n"
    module, names = imported(source)
    assert (module.found, names) == (None, [])


def test_an_import_in_a_file_of_another_gets_no_stub(imported, tmp_path):
    """Installed packages handle absences by themselves."""
    with pytest.raises(ModuleNotFoundError):
        imported("import absent_one", root=tmp_path / "elsewhere")


def test_the_kind_of_a_stub_follows_from_the_package(tmp_path):
    """Loggers do nothing, also when the submission is used."""
    finder = StubFinder(tmp_path, [])
    made = {
        name: finder.create_module(importlib.machinery.ModuleSpec(name, finder))
        for name in ("wandb", "wandb.sdk", "absent_one")
    }
    assert is_stub(made["absent_one"].Parallel, "absent_one.Parallel")
    finder.begin_use()
    assert is_silent(made["wandb"].log(1))
    assert is_silent(made["wandb.sdk"].log(1))
    with pytest.raises(ModuleNotFoundError):
        made["absent_one"].Parallel()


def test_modules_of_some_names_are_silent():
    finder, name = SilentFinder("absent", "torch.utils.tensorboard"), "torch.utils.tensorboard"
    for one in (name, f"{name}.writer", "absent"):
        spec = finder.find_spec(one, None)
        assert is_silent(finder.create_module(spec).any_name)
    assert finder.find_spec(f"{name}x", None) is finder.find_spec("torch.utils", None) is None


def test_an_own_package_has_version_0(monkeypatch):
    """It was installed at home, for example by `pip install -e .`."""
    monkeypatch.setattr(importlib.metadata, "version", importlib.metadata.version)
    find_versions_of(["my-tools"])
    assert importlib.metadata.version("My.Tools") == importlib.metadata.version("my_tools") == "0"
    assert importlib.metadata.version("torch") == torch.__version__
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("other")


def test_torch_compile_leaves_everything_as_it_is():
    """It is called, or decorates with or without options; a module is its own `_orig_mod`."""

    def double(x: Any) -> Any:
        return 2 * x

    assert _as_it_is(double) is _as_it_is(fullgraph=True)(double) is double
    layer = torch.nn.Linear(1, 1)
    compiled = _as_it_is(layer, dynamic=True)
    assert compiled is compiled._orig_mod is layer
    assert [*compiled.state_dict()] == ["weight", "bias"]
    assert [*compiled.modules()] == [layer]
    twin = copy.deepcopy(compiled)
    assert twin is twin._orig_mod is not layer


def test_functions_that_are_never_compiled_are_called_directly():
    """Otherwise the first call would load torch's compiler, which takes a second."""
    from torch._compile import _disable_dynamo

    def plain() -> int:
        return 3

    wrapped = _disable_dynamo(plain)
    load_no_compiler()
    assert vars(plain)["__dynamo_disable"] is plain
    assert wrapped() == 3
