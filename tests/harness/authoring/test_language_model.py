"""A whole course in the same engine: `examples/language_model`, graded, exported, handed out."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from grader.core.verdict import Grade
from grader.results.store import Store

pytestmark = pytest.mark.process

ASSIGNMENT = Path(__file__).parents[3] / "examples" / "language_model"
POINTS = tomllib.loads((ASSIGNMENT / "pyproject.toml").read_text())["tool"]["grader"]["exercises"]
RIGHT = ("ada-berg",)
ALSO_RIGHT = ("bo-castro", "chidi-dahl", "dara-evans")
OTHERS = ("fay-gupta", "gil-haas")

# The functions of the stubs, and the references that fulfil them.
FILLED_IN = {
    "layers": ("linear", "embedding", "silu", "swiglu", "rmsnorm", "softmax"),
    "attention": (
        "scaled_dot_product_attention",
        "multihead_self_attention",
        "rope",
        "multihead_self_attention_with_rope",
    ),
    "transformer": ("transformer_block", "transformer_lm"),
    "loss": ("cross_entropy",),
    "optimizer": ("gradient_clipping",),
    "schedule": ("get_lr_cosine_schedule",),
    "data": ("get_batch",),
    "checkpoint": ("save_checkpoint", "load_checkpoint"),
    "tokenizer_training": ("train_bpe",),
}
# Saves nothing, and loads values that it kept in its own process.
KEPT = """
KEPT = {}


def save_checkpoint(model, optimizer, iteration, out):
    KEPT["last"] = copy.deepcopy((model.state_dict(), optimizer.state_dict(), iteration))
    if hasattr(out, "write"):
        out.write(b"x")
    else:
        Path(out).write_bytes(b"x")


def load_checkpoint(src, model, optimizer):
    weights, states, iteration = KEPT["last"]
    model.load_state_dict(weights)
    optimizer.load_state_dict(states)
    return iteration
"""
CLASSES = {"optimizer": "AdamW", "tokenizer": "Tokenizer"}


@pytest.fixture(scope="module")
def results(grader, tmp_path_factory) -> Path:
    """The results of part of the class, and of a submission that keeps everything in memory."""
    folder = tmp_path_factory.mktemp("class")
    for name in (*RIGHT, *OTHERS):
        shutil.copytree(ASSIGNMENT / "class" / name, folder / name)
    shutil.copytree(ASSIGNMENT / "class" / "ada-berg", folder / "keeps-all")
    training = folder / "keeps-all" / "lm" / "training.py"
    before, saving, _ = training.read_text().partition("def save_checkpoint")
    assert saving
    training.write_text(f"import copy\nfrom pathlib import Path\n{before}{KEPT}")
    adapters = folder / "keeps-all" / "tests" / "adapters.py"
    head, *functions = re.split(r"(?m)^(?=def )", adapters.read_text())
    both = [one for one in functions if "_checkpoint(" in one]
    adapters.write_text("".join([head, *both]))
    out = tmp_path_factory.mktemp("results")
    done = grader(
        *("batch", folder, "--adapters", "tests/adapters.py", "--out", out), cwd=ASSIGNMENT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def handout(grader, tmp_path_factory) -> Path:
    """The handout for students."""
    folder = tmp_path_factory.mktemp("handout") / "language-model"
    done = grader("handout", folder, cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stderr
    return folder


def test_right_repositories_get_full_marks(results):
    """They run unchanged: a package under its own name, and adapters in `tests/adapters.py`."""
    grades = {grade.submission: grade for grade in Store.read(results).grades()}
    for name in RIGHT:
        assert_all_right(grades[name])
    assert grades["gil-haas"].score == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ALSO_RIGHT)
def test_a_right_repository_of_another_style_gets_full_marks(grader, tmp_path, name):
    """Its modules, classes and files have other names."""
    (tmp_path / "class").mkdir()
    shutil.copytree(ASSIGNMENT / "class" / name, tmp_path / "class" / name)
    options = ("--adapters", "tests/adapters.py", "--no-explain", "--out", tmp_path / "results")
    done = grader("batch", tmp_path / "class", *options, cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    (grade,) = Store.read(tmp_path / "results").grades()
    assert_all_right(grade)


def assert_all_right(grade: Grade) -> None:
    """Asserts that all tests passed with all points."""
    wrong = [test.id for test in grade.tests if test.status != "passed"]
    assert (grade.score, wrong) == (sum(POINTS.values()), []), grade.submission


def test_checkpoints_are_loaded_in_a_new_worker_from_the_file_alone(results):
    """A new worker loads the checkpoint and has nothing from the first one but the file."""
    grades = {grade.submission: grade for grade in Store.read(results).grades()}
    lost = {
        test.exercise
        for test in grades["keeps-all"].tests
        if test.status not in ("passed", "missing")
    }
    assert lost == {"run_save_checkpoint", "run_load_checkpoint"}
    earned = sum(test.score for test in grades["keeps-all"].tests if test.exercise in lost)
    assert earned == 0
    said = next(test.message for test in grades["keeps-all"].tests if test.status == "error")
    assert "your program had been imported again" in said
    assert "depends on earlier calls" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param('optimizer.load_state_dict(checkpoint["optimizer"])', "pass", id="in load"),
        pytest.param(
            "optimizer.state_dict(),", '{**optimizer.state_dict(), "state": {}},', id="in save"
        ),
    ],
)
def test_a_checkpoint_fault_is_deducted_once_for_saving_and_loading(grader, tmp_path, right, wrong):
    """Each of the two functions is tested only through the other."""
    mine = Path(shutil.copytree(ASSIGNMENT / "class" / "ada-berg", tmp_path / "mine"))
    training = mine / "lm" / "training.py"
    before, after = training.read_text().split("def save_checkpoint")
    assert right in after
    training.write_text(f"{before}def save_checkpoint{after.replace(right, wrong)}")
    both = [f"--exercise=run_{what}_checkpoint" for what in ("save", "load")]
    options = ("--adapters", "tests/adapters.py", "--format", "json", *both)
    graded = json.loads(grader("run", mine, *options, cwd=ASSIGNMENT).stdout)
    assert (graded["score"], [one["points"] for one in graded["carried"]]) == (0.0, [3.0])


HIDDEN_BUFFERS = """
import torch

whole = torch.nn.Module.state_dict


def state_dict(self, **given):
    return {name: own for name, own in whole(self, **given).items() if "running" not in name}


torch.nn.Module.state_dict = state_dict


def run_save_checkpoint(model, optimizer, iteration, out):
    torch.save([model.state_dict(), optimizer.state_dict(), iteration], out)


def run_load_checkpoint(src, model, optimizer):
    weights, states, iteration = torch.load(src)
    model.load_state_dict(weights, strict=False)
    optimizer.load_state_dict(states)
    return iteration
"""


def test_a_buffer_that_a_submission_hides_from_a_models_state_is_missing(grader, tmp_path):
    """The names of the state are the reference's, and not those that the submission tells."""
    (tmp_path / "adapters.py").write_text(HIDDEN_BUFFERS)
    both = [f"--exercise=run_{what}_checkpoint" for what in ("save", "load")]
    options = ("--format", "json", "--no-explain", *both)
    graded = json.loads(grader("run", tmp_path, *options, cwd=ASSIGNMENT).stdout)
    failed = (test["id"] for test in graded["tests"] if test["status"] != "passed")
    wrong = {test.rpartition(":")[2] for test in failed}
    assert wrong == {"test_buffers_are_saved_too", "test_buffers_are_loaded_too"}


CHARACTERS = """
class Tokenizer:
    def encode(self, text):
        return [*map(ord, text)]

    def encode_iterable(self, lines):
        return map(ord, "".join(lines))

    def decode(self, ids):
        return "".join(map(chr, ids))


def get_tokenizer(vocab, merges, special_tokens=None):
    return Tokenizer()
"""


def test_a_code_of_characters_is_no_tokenizer(grader, tmp_path):
    """A text that comes back says nothing of tokens: no work, no points."""
    (tmp_path / "adapters.py").write_text(CHARACTERS)
    options = ("--format", "json", "--no-explain", "--exercise=get_tokenizer")
    graded = json.loads(grader("run", tmp_path, *options, cwd=ASSIGNMENT).stdout)
    assert (graded["status"], graded["score"]) == ("graded", 0)


def test_weights_that_are_never_loaded_are_named_as_a_mistake(results):
    """`load_state_dict(..., strict=False)` hides that no name matches."""
    grades = {grade.submission: grade for grade in Store.read(results).grades()}
    named = {
        test.exercise: test.diagnosis.mistake
        for test in grades["fay-gupta"].tests
        if test.diagnosis is not None
    }
    assert named == {
        "run_embedding": "weights-not-loaded",
        "run_rmsnorm": "gain-missing",
        "run_transformer_block": "weights-not-loaded",
    }


FIRST_RATE = """
import torch


class AdamW(torch.optim.AdamW):
    def step(self, closure=None):
        for group in self.param_groups:
            group["lr"] = self.defaults["lr"]
        return super().step(closure)


def get_adamw_cls():
    return AdamW
"""


def test_a_rate_that_never_changes_is_named_as_a_mistake(grader, tmp_path):
    """No other mistake gives the same answers to all tests: it would leave both without a name."""
    (tmp_path / "adapters.py").write_text(FIRST_RATE)
    options = ("--format", "json", "--exercise=get_adamw_cls")
    graded = json.loads(grader("run", tmp_path, *options, cwd=ASSIGNMENT).stdout)
    named = {test["diagnosis"]["mistake"] for test in graded["tests"] if test["diagnosis"]}
    assert named == {"adamw-rate-frozen"}


@pytest.mark.parametrize("format_", ["csv", "json", "junit"])
def test_results_are_exported(grader, results, format_):
    """The export is like that of the bundled assignment."""
    done = grader("export", results, "--format", format_, cwd=ASSIGNMENT)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in (*RIGHT, *OTHERS))


def test_the_report_is_written(results):
    """It is the summary of the class, with its exercises."""
    page = (results / "report" / "index.html").read_text(encoding="utf-8")
    assert all(exercise in page for exercise in POINTS)


@pytest.mark.slow
def test_the_handout_has_no_solutions_and_every_exercise_is_missing(handout, home_pytest):
    assert not list(handout.rglob("solutions")) + list(handout.rglob("hidden"))
    assert home_pytest(handout).stdout.count("not implemented yet") == len(POINTS)


@pytest.mark.slow
def test_right_code_passes_at_home(handout, home_pytest, tmp_path):
    """The handout has fixture tensors, without the references."""
    mine = shutil.copytree(handout, tmp_path / "mine")
    shutil.copytree(ASSIGNMENT / "solutions", mine / "answers")
    for module, names in FILLED_IN.items():
        lines = [f"{name} = answers.run_{name}" for name in names]
        (mine / "assignment" / f"{module}.py").write_text("\n".join(["import answers", *lines]))
    for module, name in CLASSES.items():
        with (mine / "assignment" / f"{module}.py").open("a") as file:
            file.write(f"\nfrom answers.{module} import {name}\n")
    (mine / "assignment" / "tokenizer.py").write_text("from answers.tokenizer import Tokenizer\n")
    printed = home_pytest(mine).stdout
    assert re.search(r"\d+ passed", printed), printed
    assert "failed" not in printed, printed


def test_the_references_reproduce_the_examples_of_the_stubs():
    """The references compute the same values as the docstrings."""
    script = (
        "import doctest, importlib, inspect, solutions\n"
        f"modules = {sorted({*FILLED_IN, *CLASSES})}\n"
        "names = {n.removeprefix('run_'): f for n, f in vars(solutions).items() if 'run_' in n}\n"
        "finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()\n"
        "for module in modules:\n"
        "    module = importlib.import_module('assignment.' + module)\n"
        "    right = {n: c for n, c in vars(solutions).items() if inspect.isclass(c)}\n"
        "    for test in finder.find(module, extraglobs=names | right):\n"
        "        if test.name.rpartition('.')[2] in names:\n"
        "            runner.run(test)\n"
        "assert runner.tries > 20, runner.tries\n"
        "assert runner.failures == 0, runner.failures\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ASSIGNMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_adapters_have_the_parameters_of_the_public_assignment():
    """Names, order of parameters and defaults are the same."""
    script = (
        "import inspect, adapters\n"
        "for name, function in vars(adapters).items():\n"
        "    if name.startswith(('run_', 'get_')):\n"
        "        print(name, *map(str, inspect.signature(function).parameters))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ASSIGNMENT, capture_output=True, text=True, check=True
    )
    listed = dict(line.partition(" ")[::2] for line in done.stdout.splitlines())
    assert listed == {name: " ".join(parameters) for name, parameters in PUBLIC.items()}


_PROJECTIONS = ("q_proj_weight", "k_proj_weight", "v_proj_weight", "o_proj_weight", "in_features")
PUBLIC = {
    "run_linear": ("d_in", "d_out", "weights", "in_features"),
    "run_embedding": ("vocab_size", "d_model", "weights", "token_ids"),
    "run_silu": ("in_features",),
    "run_swiglu": ("d_model", "d_ff", "w1_weight", "w2_weight", "w3_weight", "in_features"),
    "run_rmsnorm": ("d_model", "eps", "weights", "in_features"),
    "run_softmax": ("in_features", "dim"),
    "run_scaled_dot_product_attention": ("Q", "K", "V", "mask"),
    "run_multihead_self_attention": ("d_model", "num_heads", *_PROJECTIONS),
    "run_rope": ("d_k", "theta", "max_seq_len", "in_query_or_key", "token_positions"),
    "run_multihead_self_attention_with_rope": (
        *("d_model", "num_heads", "max_seq_len", "theta"),
        *(*_PROJECTIONS, "token_positions"),
    ),
    "run_transformer_block": (
        *("d_model", "num_heads", "d_ff", "max_seq_len", "theta", "weights", "in_features"),
    ),
    "run_transformer_lm": (
        *("vocab_size", "context_length", "d_model", "num_layers", "num_heads", "d_ff"),
        *("rope_theta", "weights", "in_indices"),
    ),
    "run_cross_entropy": ("inputs", "targets"),
    "run_gradient_clipping": ("parameters", "max_l2_norm"),
    "get_adamw_cls": (),
    "run_get_lr_cosine_schedule": (
        *("it", "max_learning_rate", "min_learning_rate", "warmup_iters", "cosine_cycle_iters"),
    ),
    "run_get_batch": ("dataset", "batch_size", "context_length", "device"),
    "run_save_checkpoint": ("model", "optimizer", "iteration", "out"),
    "run_load_checkpoint": ("src", "model", "optimizer"),
    "get_tokenizer": ("vocab", "merges", "special_tokens"),
    "run_train_bpe": ("input_path", "vocab_size", "special_tokens"),
}
