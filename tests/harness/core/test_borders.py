"""The layout's rules: which room may import which, and the modules within a worker's reach."""

import ast
import functools
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
ENGINE = ROOT / "grader"
# All modules of the engine that are ever loaded in a worker's process. Adding one is a decision.
LOADED_IN_WORKERS = {
    "grader",
    "grader.core",
    "grader.core.names",
    "grader.core.processes",
    "grader.core.wire",
    "grader.core.wire.calls",
    "grader.core.wire.frames",
    "grader.core.wire.records",
    "grader.core.wire.scripts",
    "grader.core.wire.tensors",
    "grader.core.wire.trials",
    "grader.core.wire.value_rows",
    "grader.core.wire.value_tree",
    "grader.core.wire.values",
    "grader.core.wire.values_in_words",
    "grader.worker",
    "grader.worker.confinement",
    "grader.worker.confinement.file_tree",
    "grader.worker.confinement.identity",
    "grader.worker.confinement.layers",
    "grader.worker.confinement.seccomp",
    "grader.worker.confinement.seccomp_program",
    "grader.worker.exceptions",
    "grader.worker.fork_server",
    "grader.worker.loading",
    "grader.worker.marshalling",
    "grader.worker.multiprocessing",
    "grader.worker.notebook",
    "grader.worker.observing",
    "grader.worker.observing.expression",
    "grader.worker.observing.counting",
    "grader.worker.observing.lines",
    "grader.worker.observing.recording",
    "grader.worker.observing.tracing",
    "grader.worker.observing.watching",
    "grader.worker.packages",
    "grader.worker.performing",
    "grader.worker.serving",
    "grader.worker.stubs",
    "grader.worker.trials",
    "grader.worker.trials.alarm",
    "grader.worker.trials.exchange",
    "grader.worker.trials.memory",
    "grader.worker.trials.trials",
    "grader.worker.uncompiled",
    "grader.worker.workplace",
    "grader.worker.zygote",
}
EXPLAINING = ("grader.explain", "grader.home")
# Plain data and its codec are all that trusted and untrusted code share.
SHARED = ("grader.core.wire", "grader.core.names", "grader.core.processes")
COURSE = {"adapters", "assignment", "solutions", "tests"}
# Arrows only run down: a room may import those below it in this list, and itself.
ROOMS = [
    "grader.__main__",
    "grader.cli",
    "grader.authoring",
    "grader.home",
    "grader.grading",
    "grader.reports",
    "grader.explain",
    "grader.sandbox",
    "grader.testing",
    "grader.intake",
    "grader.worker",
    "grader.results",
    "grader.core",
    "grader",
]


@functools.cache
def imports_of(file: Path) -> set[str]:
    """Returns the modules that a file imports anywhere in it, functions included.

    Imports under `if TYPE_CHECKING:` are for type checkers only and do not count.
    """
    found = set()
    for node in ast.walk(RunTimeOnly().visit(ast.parse(file.read_text()))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


class RunTimeOnly(ast.NodeTransformer):
    """A transformer that removes the code for type checkers."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        only_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if only_types else self.generic_visit(node)


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def place_of_room(room: str) -> int | None:
    return ROOMS.index(room) if room in ROOMS else None


def is_below(module: str, *packages: str) -> bool:
    """Returns whether a module is one of these packages, or inside one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@functools.cache
def imports_by_engine_module() -> dict[str, set[str]]:
    """Returns the imports of every module of the engine."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): (
            imports_of(file)
        )
        for file in ENGINE.rglob("*.py")
    }


def test_the_engine_imports_nothing_of_an_assignment():
    """Another course's assignment needs no change in the engine."""
    for module, imported in imports_by_engine_module().items():
        assert not {name.split(".")[0] for name in imported} & COURSE, module


def test_no_room_imports_a_room_above_it():
    """The tree reads as a submission's way, and a lower room never imports a higher one."""
    for module, imported in imports_by_engine_module().items():
        here = place_of_room(room_of(module))
        assert here is not None, f"{module} is in no room"
        for name in imported:
            there = place_of_room(room_of(name)) if name.startswith("grader.") else None
            assert there is None or there >= here, f"{module} imports {name}, which is above it"


def test_judge_imports_no_module_that_explains_verdicts():
    """A hostile submission could crash a judge that also explains."""
    for module, imported in imports_by_engine_module().items():
        if is_below(module, "grader.grading.judge"):
            assert not {name for name in imported if is_below(name, *EXPLAINING)}, module


def test_worker_modules_import_no_trusted_module():
    """Trusted and untrusted code share plain data only.

    The process that removes scratch folders is an exception. It never runs a submission, and loads
    that module only at the very end.
    """
    all_modules = {it for it in imports_by_engine_module() if it.count(".") > 1}
    for file in (ENGINE / "worker").rglob("*.py"):
        at_the_end = ("grader.core.folders",) if file.stem == "zygote" else ()
        modules = {name for name in imports_of(file) if is_below(name, "grader")} & {*all_modules}
        others = {it for it in modules if not is_below(it, "grader.worker", *SHARED, *at_the_end)}
        assert not others, file


WITHOUT_UNIX = """
import importlib, signal, sys, sysconfig
import pytest, torch
sysconfig.get_config_vars()
sys.platform = "win32"
for name in ("SIGALRM", "SIGKILL", "SIGUSR1", "SIGUSR2", "setitimer"):
    delattr(signal, name)
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


@pytest.mark.process
def test_the_modules_at_home_load_without_signals_and_modules_of_unix():
    """They are missing on Windows."""
    modules = [f"grader.home.{file.stem}" for file in (ENGINE / "home").glob("[a-z]*.py")]
    command = [sys.executable, "-c", WITHOUT_UNIX, "grader.testing", *modules]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.process
def test_importing_the_package_loads_none_of_its_modules():
    """The Python verbs load when they are used, so that `import grader` costs nothing."""
    script = "import grader, sys; print([m for m in sys.modules if m.startswith('grader.')])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.process
@pytest.mark.parametrize(
    "modules",
    [
        *(["grader.grading.job.process"], ["grader.worker.zygote"], ["grader.intake.process"]),
        [f"grader.cli.commands.{file.stem}" for file in (ENGINE / "cli/commands").glob("*.py")],
    ],
    ids=["job", "zygote", "intake", "commands"],
)
def test_importing_commands_and_child_processes_does_not_load_torch(modules):
    """Children start first: two processes then load torch at the same time, or none does."""
    script = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


OUT_OF_REACH = [
    "grader.grading.judge",
    "grader.grading.judge.judge",
    "grader.core.wire",
    "solutions",
    "tests.hidden",
    "assignment",
]
SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import grader.worker.zygote
from grader.worker.fork_server import engine_modules, warm_up
warm_up()
loaded = sorted(name for name in sys.modules if name.split(".")[0] == "grader")
from grader.worker.loading import load
submission, wanted = Path(sys.argv[2]), sys.argv[3:]
load(submission, submission, engine_modules(), "adapters", ["."], [])
imported = []
for module in wanted:
    try:
        __import__(module)
        imported.append(module)
    except ModuleNotFoundError:
        pass
print(json.dumps({"loaded": loaded, "imported": imported}))
"""


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda it: it.stem)
def test_benchmarks_import_only_names_that_exist(path):
    """No test runs a benchmark, so that a renamed function would break it unnoticed."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader."):
            module = importlib.import_module(node.module)
            assert [one.name for one in node.names if not hasattr(module, one.name)] == []


def modules_in_a_worker(submission: Path, modules: list[str]) -> dict[str, list[str]]:
    """Returns the engine's loaded modules in a worker, and which of `modules` it can import."""
    (submission / "adapters.py").write_text("def run_softmax(in_features, dim): ...\n")
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT, str(ROOT), str(submission), *modules],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.process
def test_a_worker_loads_only_listed_engine_modules_and_can_import_no_other(tmp_path):
    """A submission cannot search memory for a module that is not loaded.

    The grader is often installed in place, from the folder that also holds the references.
    """
    found = modules_in_a_worker(tmp_path, OUT_OF_REACH)
    assert set(found["loaded"]) == LOADED_IN_WORKERS
    assert found["imported"] == []


@pytest.mark.process
def test_a_submission_may_contain_its_own_module_named_grader(tmp_path):
    """A submission's own module may have the engine's name."""
    (tmp_path / "grader.py").write_text("name = 'mine'\n")
    assert modules_in_a_worker(tmp_path, ["grader"])["imported"] == ["grader"]
