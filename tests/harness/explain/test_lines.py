"""The line to change: a failed test points at it, or says which steps are right so far."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from grader.core.assignment import Settings
from grader.core.verdict import Grade, Verdict
from grader.intake.entry import Entry
from tests.harness.conftest import write_files
from tests.harness.grading_jobs import GradingJob
from tests.harness.marks import rest_slow

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
HERE = "# astray"
SDPA = "run_scaled_dot_product_attention"
MHA = "run_multihead_self_attention"
START = "import math\nimport torch\nfrom torch import nn\nfrom einops import einsum, rearrange\n\n"

ATTEND = """
def attend(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ v

def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attend(Q, K, V, mask)
"""
MULTIHEAD = """
def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = (
        rearrange(in_features @ w.T, "... s (h d) -> ... h s d", h=num_heads) for w in weights
    )
    seq = in_features.shape[-2]
    causal = torch.ones(seq, seq, dtype=torch.bool).tril()
"""


def submission_files(adapters: str, **files: str) -> dict[str, str]:
    """Returns the files of a submission."""
    named = {name.replace("__", "/") + ".py": START + text for name, text in files.items()}
    return {"adapters.py": START + adapters, **named}


WRONG = {
    "a matrix product": (
        "no-scale",
        SDPA,
        submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1)  # astray
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    shares = torch.softmax(scores, dim=-1)
    return shares @ V
"""),
    ),
    "an einsum": (
        "softmax-over-queries",
        SDPA,
        submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = einsum(Q, K, "... q d, ... k d -> ... k q") / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), float("-inf"))
    shares = torch.softmax(scores, dim=-1)  # astray
    return einsum(shares, V, "... k q, ... k d -> ... q d")
"""),
    ),
    "an operation in place": (
        "mask-inverted",
        SDPA,
        submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1)
    scores /= math.sqrt(Q.shape[-1])
    if mask is not None:
        scores.masked_fill_(mask, float("-inf"))  # astray
    return torch.softmax(scores, dim=-1) @ V
"""),
    ),
    "a statement of several lines": (
        "scale-by-d_k",
        SDPA,
        submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.matmul(
        Q,
        K.transpose(-2, -1),
    ) / Q.shape[-1]  # astray
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ V
"""),
    ),
    "one head at a time": (
        "causal-sees-next",
        "run_multihead_attention_stacked",
        submission_files("""
def run_multihead_attention_stacked(W_query, W_key, W_value, in_features):
    seq = in_features.shape[-2]
    heads = []
    for w_q, w_k, w_v in zip(W_query, W_key, W_value):
        q, k, v = in_features @ w_q, in_features @ w_k, in_features @ w_v
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        visible = torch.ones(seq, seq).tril(diagonal=1).bool()  # astray
        scores = scores.masked_fill(~visible, float("-inf"))
        heads.append(torch.softmax(scores, dim=-1) @ v)
    return torch.cat(heads, dim=-1)
"""),
    ),
    "a module in another file": (
        "heads-merge-without-transpose",
        MHA,
        submission_files(
            """
from model.layers import MultiHead

def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = MultiHead(d_model, num_heads)
    layer.load_state_dict({
        "q": q_proj_weight, "k": k_proj_weight, "v": v_proj_weight, "o": o_proj_weight,
    })
    return layer(in_features)
""",
            model____init__="",
            model__layers="""
class MultiHead(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in "qkvo":
            setattr(self, name, nn.Parameter(torch.empty(width, width)))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def forward(self, x):
        q, k, v = (self.split(x @ w.T) for w in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        later = torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).triu(1)
        mixed = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1) @ v
        merged = mixed.reshape(x.shape)  # astray
        return merged @ self.o.T
""",
        ),
    ),
    "a function that is right, called without its mask": (
        "causal-missing",
        MHA,
        submission_files(
            ATTEND
            + MULTIHEAD
            + """
    heads = attend(q, k, v)  # astray
    return rearrange(heads, "... h s d -> ... s (h d)") @ o_proj_weight.T
"""
        ),
    ),
    "values in the place of keys": (
        "kv-swapped",
        MHA,
        submission_files(
            ATTEND
            + MULTIHEAD
            + """
    heads = attend(q, v, k, causal)  # astray
    return rearrange(heads, "... h s d -> ... s (h d)") @ o_proj_weight.T
"""
        ),
    ),
    "angles": (
        "rope-frequency",
        "run_rope",
        submission_files("""
def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    pair = torch.arange(0, d_k, 2)
    frequency = theta ** (-pair / (2 * d_k))  # astray
    angle = torch.outer(torch.arange(max_seq_len), frequency)[token_positions]
    even, odd = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2]
    cos, sin = angle.cos().to(even.dtype), angle.sin().to(even.dtype)
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
"""),
    ),
    "an axis of size 1 too many": (
        "mask-extra-axis",
        MHA,
        submission_files(
            MULTIHEAD
            + """
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(~causal.view(1, 1, seq, seq), float("-inf"))  # astray
    heads = torch.softmax(scores, dim=-1) @ v
    return rearrange(heads, "... h s d -> ... s (h d)") @ o_proj_weight.T
"""
        ),
    ),
    "an unknown mistake within one line": (
        None,
        SDPA,
        submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    shares = torch.softmax(0.9 * scores, dim=-1)  # astray
    return shares @ V
"""),
    ),
}


@pytest.fixture(scope="module")
def attention_judge() -> Iterator[GradingJob]:
    """A grading job of the attention assignment."""
    client = GradingJob(Settings(str(ROOT), 1, (), "adapters.py", 60.0, 1024, "suite"))
    yield client
    client.close()


@pytest.fixture
def judged(attention_judge: GradingJob, tmp_path: Path) -> Callable[[Mapping[str, str]], Grade]:
    """A function that grades the files of a submission."""

    def grade(files: Mapping[str, str]) -> Grade:
        folder = write_files(tmp_path / "submission", files)
        return attention_judge.grade(Entry("submission", folder), "hash")

    return grade


def failed(grade: Grade, exercise: str) -> list[Verdict]:
    """Returns the failed tests of an exercise, at least one."""
    found = [v for v in grade.tests if v.exercise == exercise and v.status == "failed"]
    assert found
    return found


def marked_line(files: Mapping[str, str]) -> tuple[str, int]:
    """Returns the file and number of the line with the mark."""
    (marked,) = [
        (file, number)
        for file, text in files.items()
        for number, line in enumerate(textwrap.dedent(text).splitlines(), 1)
        if HERE in line
    ]
    return marked


@pytest.mark.process
@pytest.mark.parametrize("kind", rest_slow(WRONG, 6))
def test_the_wrong_line_is_named_in_every_style(judged, kind):
    """Layout does not matter, nor how the code is split into lines, functions and files."""
    mistake, exercise, files = WRONG[kind]
    verdicts = failed(judged(files), exercise)
    assert {(v.where.file, v.where.line) for v in verdicts if v.where} == {marked_line(files)}
    named = {v.diagnosis.mistake for v in verdicts if v.diagnosis is not None}
    assert named == ({mistake} if mistake else set())


@pytest.mark.process
def test_an_overflow_is_reported_at_the_first_line_that_overflows(judged):
    """The powers of large values overflow first; other tests only notice the NaN that follow."""
    grade = judged(
        submission_files("""
def run_softmax(in_features, dim):
    powers = torch.exp(in_features)
    total = powers.sum(dim=dim, keepdim=True)
    return powers / total
""")
    )
    places = [v.where for v in failed(grade, "run_softmax") if v.where is not None]
    assert {place.line for place in places} == {8}


@pytest.mark.process
def test_a_line_in_a_notebook_is_named_by_its_cell(attention_judge, tmp_path):
    """Cells of text do not count towards the cell's number."""
    lines = WRONG["an operation in place"][2]["adapters.py"].splitlines(keepends=True)
    sources = [["# Attention\n"], lines[:6], lines[6:]]
    cells = [
        {"cell_type": kind, "metadata": {}, "source": source} | extra
        for kind, source, extra in zip(
            ["markdown", "code", "code"],
            sources,
            [{}, *[{"outputs": [], "execution_count": None}] * 2],
            strict=True,
        )
    ]
    notebook = tmp_path / "mine.ipynb"
    notebook.write_text(
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    )
    grade = attention_judge.grade(Entry("mine", notebook), "hash")
    place = next(v.where for v in failed(grade, SDPA) if v.where is not None)
    expected = next(n for n, line in enumerate(sources[2], 1) if HERE in line)
    assert (place.file, place.line) == ("mine.ipynb/cell 2", expected)


@pytest.mark.process
def test_two_mistakes_at_once_are_reported_by_the_first_wrong_step(judged):
    """No change of one line fixes both, but the student learns which steps are right."""
    _, exercise, files = WRONG["a module in another file"]
    twice = {name: text.replace("self.o.T", "self.o") for name, text in files.items()}
    told = failed(judged(twice), exercise)
    assert [v.where for v in told if v.where is not None] == []
    right = "Right so far: …, mask, scores, scaled, masked, weights and outputs."
    (message,) = (v.message for v in told if "Right so far" in v.message)
    assert f'{right} The next step, "merged", or what it is given is missing or wrong.' in message


@pytest.mark.process
def test_compared_steps_are_stored_with_their_shapes(judged):
    """The report shows the reference's steps beside the submission's and marks the first wrong one.

    It does so even where a line is proved, because the steps show what that line computes.
    """
    _, exercise, files = WRONG["a module in another file"]
    grade = judged(files)
    (walk,) = grade.evidence.walks
    assert not any("Right so far" in v.message for v in failed(grade, exercise))
    assert walk.exercise == exercise
    taken = {step.name: step for step in walk.steps}
    assert (taken["weights"].own_shape, taken["weights"].right) == ((3, 2, 6, 6), True)
    assert [step.name for step in walk.steps if step.right is False] == ["merged"]
    assert taken["projected"].right is None


@pytest.mark.process
def test_wrong_answers_name_their_line_though_other_calls_raise(judged):
    """The program also rejects inputs without three axes, which is a separate mistake."""
    files = submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    batch, queries, features = Q.shape
    scores = Q @ K.transpose(-2, -1) / features  # astray
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ V
""")
    grade = judged(files)
    plain = [v for v in failed(grade, SDPA) if v.aspect == "values"]
    assert {(v.where.file, v.where.line) for v in plain if v.where} == {marked_line(files)}
    raised = [v for v in grade.tests if v.exercise == SDPA and v.status == "error"]
    assert raised
    assert not [v for v in raised if " alone fixes" in v.message]


ROPE = """
def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    x, positions = in_query_or_key, token_positions
    powers = torch.arange(0, d_k, 2, dtype=torch.float32, device=x.device) / d_k
    angles = positions[..., None] * theta**-powers
    waves = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * waves).flatten(-2).to(x.dtype)
"""
WITH_ROPE = "in_features, max_seq_len, theta, token_positions=None\n"
TURNED_HEADS = MULTIHEAD.replace("attention(", "attention_with_rope(")
TURNED_HEADS = TURNED_HEADS.replace("in_features\n", WITH_ROPE)
TURNED_HEADS += """
    def turned(x):
        return run_rope(d_model // num_heads, theta, max_seq_len, x, positions)  # astray
    positions = torch.arange(seq) if token_positions is None else token_positions
    merged = rearrange(attend(turned(q), turned(k), v, causal), "... h s d -> ... s (h d)")
    return merged @ o_proj_weight.T
"""


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["while positions.ndim", "if 1 < positions.ndim"])
def test_a_line_whose_edit_breaks_another_exercise_is_not_named(judged, asked):
    """The new axis of the positions suits heads, but not inputs with several leading axes."""
    widened = f"    {asked} < x.ndim - 1:\n        positions = positions.unsqueeze(-2)\n    powers"
    rope = ROPE.replace("    powers", widened, 1)
    grade = judged(submission_files(ATTEND + rope + TURNED_HEADS))
    wrong = [v for v in grade.tests if v.exercise == "run_rope" and v.status != "passed"]
    assert {"Changing" in v.message for v in wrong} == {False}


@pytest.mark.slow
def test_a_line_whose_edit_breaks_what_an_exercise_builds_on_is_not_named(judged):
    """A new axis of the waves suits heads, and breaks the right rotation of one sequence."""
    files = submission_files(ATTEND + ROPE + TURNED_HEADS)
    wrong = failed(judged(files), "run_multihead_self_attention_with_rope")
    assert {(v.where.file, v.where.line) for v in wrong if v.where} <= {marked_line(files)}


@pytest.mark.process
def test_no_line_is_named_if_no_single_edit_fixes_the_answer(judged):
    """The message still says how far the steps are certainly right."""
    verdicts = failed(
        judged(
            submission_files("""
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    powers = 1 + scores + scores**2 / 2 + scores**3 / 6
    shares = powers / powers.sum(-1, keepdim=True)
    return shares @ V
""")
        ),
        SDPA,
    )
    assert [v.where for v in verdicts if v.where is not None] == []
    (told,) = (v.message for v in verdicts if "Right so far" in v.message)
    said = 'The next step, "weights", or what it is given is missing or wrong.'
    assert f"Right so far: scores, scaled and masked. {said}" in told


@pytest.mark.process
def test_a_step_with_only_one_right_row_is_not_right(judged):
    """Positions are shifted and angles halved: at one position the two errors cancel."""
    told = failed(
        judged(
            submission_files("""
def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    freqs = theta ** (-torch.arange(0, d_k, 2) / d_k)
    angles = (token_positions[..., None] + 1) * freqs * 0.5
    cos, sin = torch.cos(angles), torch.sin(angles)
    even, odd = in_query_or_key[..., 0::2], in_query_or_key[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
""")
        ),
        "run_rope",
    )
    plain = [v.message for v in told if "Right so far" in v.message]
    assert plain
    assert not [message for message in plain if re.search("Right so far:[^.]*angles", message)]


@pytest.mark.process
@pytest.mark.parametrize(
    "answer",
    rest_slow(
        [
            "torch.softmax(in_features, dim).round(decimals=4)",
            "1.0002 * torch.softmax(in_features, dim)",
            "torch.softmax(in_features.bfloat16(), dim).to(in_features.dtype)",
        ],
        3,
    ),
    ids=["rounded", "a constant", "a dtype"],
)
def test_a_nearly_right_answer_is_reported_without_a_mistake(judged, answer):
    """A known mistake whose answer is right for these inputs explains nothing about them."""
    told = failed(
        judged(submission_files(f"def run_softmax(in_features, dim):\n    return {answer}\n")),
        "run_softmax",
    )
    assert [v.diagnosis for v in told if v.diagnosis is not None] == []
    assert not [v for v in told if "overflow" in v.message or "Right so far" in v.message]


@pytest.mark.process
def test_a_submission_right_only_while_observed_stays_wrong(judged):
    grade = judged(
        submission_files("""
from torch.utils._python_dispatch import _get_current_dispatch_mode

def run_softmax(in_features, dim):
    watched = _get_current_dispatch_mode() is not None
    return torch.softmax(in_features if watched else 2 * in_features, dim)
""")
    )
    verdicts = [v for v in failed(grade, "run_softmax") if v.aspect == "values"]
    assert {v.score for v in verdicts} == {0.0}
