"""The layout's promises: who may import whom, and what a worker can reach."""

import ast
import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
ENGINE = ROOT / "grader"
# Everything of the engine that is ever loaded in a worker's process. A new name here is a decision.
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
    "grader.core.wire.trials",
    "grader.core.wire.values",
    "grader.worker",
    "grader.worker.confinement",
    "grader.worker.confinement.file_tree",
    "grader.worker.confinement.identity",
    "grader.worker.confinement.layers",
    "grader.worker.confinement.seccomp",
    "grader.worker.confinement.seccomp_program",
    "grader.worker.exceptions",
    "grader.worker.exceptions.culprits",
    "grader.worker.exceptions.operands",
    "grader.worker.exceptions.raising",
    "grader.worker.fork_server",
    "grader.worker.loading",
    "grader.worker.marshalling",
    "grader.worker.multiprocessing",
    "grader.worker.multiprocessing.pools",
    "grader.worker.multiprocessing.processes",
    "grader.worker.multiprocessing.sharing",
    "grader.worker.notebook",
    "grader.worker.notebook_magics",
    "grader.worker.observing",
    "grader.worker.observing.expression",
    "grader.worker.observing.lines",
    "grader.worker.observing.recording",
    "grader.worker.observing.tracing",
    "grader.worker.observing.watching",
    "grader.worker.packages",
    "grader.worker.performing",
    "grader.worker.serving",
    "grader.worker.stub_packages",
    "grader.worker.stubs",
    "grader.worker.trials",
    "grader.worker.trials.alarm",
    "grader.worker.trials.exchange",
    "grader.worker.trials.memory",
    "grader.worker.trials.trials",
    "grader.worker.zygote",
}
EXPLAINING = ("grader.explain", "grader.home")
# Plain data and its codec: all that trusted and untrusted code share.
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
    """The modules that a file imports anywhere in it, functions included.

    What is under `if TYPE_CHECKING:` is for type checkers, and never imported.
    """
    found = set()
    for node in ast.walk(RunTimeOnly().visit(ast.parse(file.read_text()))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


class RunTimeOnly(ast.NodeTransformer):
    """Leaves out what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        only_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if only_types else self.generic_visit(node)


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def floor_of(room: str) -> int | None:
    return ROOMS.index(room) if room in ROOMS else None


def is_below(module: str, *packages: str) -> bool:
    """Whether a module is one of these, or in one of them."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


@functools.cache
def modules_of_the_engine() -> dict[str, set[str]]:
    """Every module of the engine, and what it imports."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): (
            imports_of(file)
        )
        for file in ENGINE.rglob("*.py")
    }


def test_the_engine_imports_nothing_of_an_assignment():
    """Another course's assignment needs no change in the engine."""
    for module, imported in modules_of_the_engine().items():
        assert not {name.split(".")[0] for name in imported} & COURSE, module


def test_arrows_between_the_rooms_only_run_down():
    """The tree reads as a submission's way; nothing below knows what is above it."""
    for module, imported in modules_of_the_engine().items():
        here = floor_of(room_of(module))
        assert here is not None, f"{module} is in no room"
        for name in imported:
            there = floor_of(room_of(name)) if name.startswith("grader.") else None
            assert there is None or there >= here, f"{module} imports {name}, which is above it"


def test_who_reaches_verdicts_holds_nothing_that_explains_them():
    """A judge that were rich in words would die of what strangers hand in."""
    for module, imported in modules_of_the_engine().items():
        if is_below(module, "grader.grading.judge"):
            assert not {name for name in imported if is_below(name, *EXPLAINING)}, module


def test_the_untrusted_side_imports_nothing_of_the_trusted_side():
    """Trusted and untrusted code share plain data only.

    What clears up when all others are gone runs nothing of a submission, and loads it only then.
    """
    all_modules = {it for it in modules_of_the_engine() if it.count(".") > 1}
    for file in (ENGINE / "worker").rglob("*.py"):
        at_the_end = ("grader.core.scratch",) if file.stem == "zygote" else ()
        modules = {name for name in imports_of(file) if is_below(name, "grader")} & {*all_modules}
        others = {it for it in modules if not is_below(it, "grader.worker", *SHARED, *at_the_end)}
        assert not others, file


@pytest.mark.process
def test_importing_the_package_loads_none_of_its_modules():
    """The Python verbs are found when they are used: `import grader` is free, in workers too."""
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
def test_torch_is_not_loaded_before_it_is_needed(modules):
    """Whoever starts the others first has two processes load torch side by side, or none."""
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
load(submission, "adapters", ["."], None, submission, [], engine_modules())
imported = []
for module in wanted:
    try:
        __import__(module)
        imported.append(module)
    except ModuleNotFoundError:
        pass
print(json.dumps({"loaded": loaded, "imported": imported}))
"""


def in_a_worker(submission: Path, modules: list[str]) -> dict[str, list[str]]:
    """What of the engine is loaded in a worker, and which of `modules` it can import."""
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
def test_a_worker_holds_few_modules_and_reaches_no_other(tmp_path):
    """What is not loaded cannot be found by searching memory.

    The grader is often installed in place, from the folder that also holds the references.
    """
    found = in_a_worker(tmp_path, OUT_OF_REACH)
    assert set(found["loaded"]) == LOADED_IN_WORKERS
    assert found["imported"] == []


@pytest.mark.process
def test_a_submission_may_have_a_grader_of_its_own(tmp_path):
    """A module that happens to be called like the engine is the submission's own business."""
    (tmp_path / "grader.py").write_text("name = 'mine'\n")
    assert in_a_worker(tmp_path, ["grader"])["imported"] == ["grader"]
