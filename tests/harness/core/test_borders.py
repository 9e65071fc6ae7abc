"""The layout's promises: who may import whom, and what a worker can reach."""

import ast
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
    "grader.counting",
    "grader.parentage",
    "grader.wire",
    "grader.wire.adapter_names",
    "grader.wire.calls",
    "grader.wire.flattening",
    "grader.wire.following",
    "grader.wire.frames",
    "grader.wire.importing",
    "grader.wire.modules",
    "grader.wire.payload",
    "grader.wire.records",
    "grader.wire.scripts",
    "grader.wire.signals",
    "grader.wire.tensors",
    "grader.wire.trees",
    "grader.wire.trials",
    "grader.wire.values",
    "grader.worker",
    "grader.worker.caretaker",
    "grader.worker.carrying_out",
    "grader.worker.confinement",
    "grader.worker.confinement.file_tree",
    "grader.worker.confinement.filesystem",
    "grader.worker.confinement.gpu",
    "grader.worker.confinement.identity",
    "grader.worker.confinement.layers",
    "grader.worker.confinement.limits",
    "grader.worker.confinement.mounts",
    "grader.worker.confinement.namespaces",
    "grader.worker.confinement.seccomp",
    "grader.worker.confinement.seccomp.allowed",
    "grader.worker.confinement.seccomp.arguments",
    "grader.worker.confinement.seccomp.denied",
    "grader.worker.confinement.seccomp.numbers",
    "grader.worker.confinement.seccomp.program",
    "grader.worker.confinement.syscalls",
    "grader.worker.ending",
    "grader.worker.forkserver",
    "grader.worker.handing_over",
    "grader.worker.heritage",
    "grader.worker.huge_pages",
    "grader.worker.loading",
    "grader.worker.making",
    "grader.worker.notebook",
    "grader.worker.notebook.cells",
    "grader.worker.notebook.magics",
    "grader.worker.notebook.modules",
    "grader.worker.notebook.shell",
    "grader.worker.observing",
    "grader.worker.observing.following",
    "grader.worker.observing.line_counting",
    "grader.worker.observing.lines",
    "grader.worker.observing.operations",
    "grader.worker.observing.recording",
    "grader.worker.observing.tracing",
    "grader.worker.observing.watching",
    "grader.worker.own_files",
    "grader.worker.packages",
    "grader.worker.performing",
    "grader.worker.serving",
    "grader.worker.standing_in",
    "grader.worker.standing_in.finding",
    "grader.worker.standing_in.known",
    "grader.worker.standing_in.one_by_one",
    "grader.worker.standing_in.silent",
    "grader.worker.standing_in.stand_in",
    "grader.worker.telling",
    "grader.worker.telling.culprits",
    "grader.worker.telling.describing",
    "grader.worker.telling.expression",
    "grader.worker.telling.odd_operands",
    "grader.worker.telling.operands",
    "grader.worker.telling.passed_devices",
    "grader.worker.telling.places",
    "grader.worker.telling.raising",
    "grader.worker.telling.signature",
    "grader.worker.telling.suggesting",
    "grader.worker.trying",
    "grader.worker.trying.alarm",
    "grader.worker.trying.exchanging",
    "grader.worker.trying.parts",
    "grader.worker.trying.remembering",
    "grader.worker.trying.replaying",
    "grader.worker.trying.torch_settings",
    "grader.worker.trying.trying",
    "grader.worker.uncompiled",
    "grader.worker.unforked",
    "grader.worker.unforked.crossing",
    "grader.worker.unforked.executing",
    "grader.worker.unforked.installing",
    "grader.worker.unforked.managing",
    "grader.worker.unforked.piping",
    "grader.worker.unforked.pools",
    "grader.worker.unforked.processes",
    "grader.worker.unforked.results",
    "grader.worker.unforked.synchronising",
    "grader.worker.unforked.turns",
    "grader.worker.workplace",
    "grader.worker.zygote",
}
COURSE = {"adapters", "assignment", "solutions", "tests"}
# Arrows only run down: a part may import those below it in this list, and itself.
LAYERS = [
    {"grader.cli", "grader.__main__"},
    {"grader.api"},
    {"grader.autograder"},
    {
        "grader.report",
        "grader.pages",
        "grader.export",
        "grader.feedback",
        "grader.handout",
        "grader.verification",
        "grader.mutation",
        "grader.seeds",
        "grader.new",
    },
    {"grader.decisions", "grader.alike"},
    {"grader.dispatch", "grader.groups", "grader.store"},
    {"grader.job"},
    {"grader.judge", "grader.explainer"},
    {"grader.suite"},
    {"grader.sandbox"},
    {"grader.home"},
    {"grader.explaining"},
    {"grader.edits"},
    {"grader.testing"},
    {"grader.intake"},
    {"grader.worker"},
    {"grader.counting", "grader.assignment"},
    {
        "grader.wire",
        "grader.causes",
        "grader.verdict",
        "grader.words",
        "grader.wrong_answers",
        "grader.edits",
        "grader.evidence",
        "grader.imports",
        "grader.near_names",
        "grader.submission",
        "grader.plain_text",
        "grader.parentage",
        "grader.refusal",
        "grader.removal",
        "grader.scratch",
        "grader.source_text",
        "grader.points",
        "grader.late_rule",
        "grader.processors",
        "grader.settings",
        "grader.toml_values",
        "grader",
    },
]


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


def part_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def layer_of(part: str) -> int | None:
    return next((depth for depth, parts in enumerate(LAYERS) if part in parts), None)


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


def test_arrows_between_the_parts_only_run_down():
    """The tree reads as a submission's way; nothing below knows what is above it."""
    for module, imported in modules_of_the_engine().items():
        here = layer_of(part_of(module))
        assert here is not None, f"{module} is in no layer"
        for name in imported:
            there = layer_of(part_of(name)) if name.startswith("grader.") else None
            assert there is None or there >= here, f"{module} imports {name}, which is above it"


def test_who_reaches_verdicts_holds_nothing_that_explains_them():
    """A judge that were rich in words would die of what strangers hand in."""
    for module, imported in modules_of_the_engine().items():
        if part_of(module) == "grader.judge":
            parts = {part_of(name) for name in imported}
            assert not parts & {"grader.explaining", "grader.explainer", "grader.home"}, module


def test_the_untrusted_side_imports_nothing_of_the_trusted_side():
    """Trusted and untrusted code share plain data only.

    What clears up when all others are gone runs nothing of a submission, and loads it only then.
    """
    allowed = {"grader.worker", "grader.wire", "grader.counting", "grader.parentage"}
    for file in (ENGINE / "worker").rglob("*.py"):
        own = {part_of(name) for name in imports_of(file) if name.startswith("grader.")}
        is_last = file.stem in ("caretaker", "zygote")
        at_the_end = {"grader.scratch"} if is_last else set()
        assert own <= allowed | at_the_end, file


@pytest.mark.process
def test_importing_the_package_loads_none_of_its_modules():
    """The Python verbs are found when they are used: `import grader` is free, in workers too."""
    script = "import grader, sys; print([m for m in sys.modules if m.startswith('grader.')])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


OUT_OF_REACH = [
    "grader.judge",
    "grader.judge.judge",
    "grader.wire",
    "solutions",
    "tests.hidden",
    "assignment",
]
SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import grader.worker.zygote
from grader.worker.forkserver import engine_modules, warm_up
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
