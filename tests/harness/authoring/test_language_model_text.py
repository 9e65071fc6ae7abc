"""Training and text in the language-model course: any right style passes; wrong code gets a reason.

Three programs look like real repositories: one is naive, one uses a heap, and one a pool of
processes. Each wrong program is an edit of one of them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader import Grade, batch
from grader.core.verdict import Status
from tests.harness.marks import asked_for, rest_slow

pytestmark = pytest.mark.process

pytest.importorskip("regex", reason="two of the programs find their words with it")

ROOT = Path(__file__).parents[3]
COURSE = ROOT / "examples" / "language_model"
PROGRAMS = Path(__file__).parents[1] / "submissions" / "language_model_text"
EXERCISES = (
    *("get_adamw_cls", "run_gradient_clipping", "run_get_lr_cosine_schedule", "run_get_batch"),
    *("run_save_checkpoint", "run_load_checkpoint", "get_tokenizer", "run_train_bpe"),
)
# Each is tested only through the other.
TOGETHER = {"run_save_checkpoint", "run_load_checkpoint"}

# The program, its file, the replacements in it, the exercise, and the expected diagnosis.
WRONG = {
    "coupled": (
        *("naive", "basics/optim.py", {"g = p.grad.data": "g = p.grad.data + 0.2 * p.data"}),
        *("get_adamw_cls", "after step 1"),
    ),
    "uncorrected": (
        *("naive", "basics/optim.py", {"lr * math.sqrt(1 - b2**t) / (1 - b1**t)": "lr"}),
        *("get_adamw_cls", "adamw-bias-not-corrected"),
    ),
    "uncorrected without decay": (
        "naive",
        "basics/optim.py",
        {
            "lr * math.sqrt(1 - b2**t) / (1 - b1**t)": "lr",
            'p.data -= lr * group["weight_decay"] * p.data': "",
        },
        *("get_adamw_cls", "adamw-bias-not-corrected + adamw-without-decay"),
    ),
    "ends without a gradient": (
        *("naive", "basics/optim.py", {"continue": "return"}),
        *("get_adamw_cls", "parameter 3 after step 1 is the parameter as it was"),
    ),
    "norm of the weights": (
        *("naive", "basics/optim.py", {"total += (p.grad.data**2)": "total += (p.data**2)"}),
        *("run_gradient_clipping", "clipping-weights"),
    ),
    "span behind the warm-up": (
        "naive",
        "basics/optim.py",
        {"it <= cycle": "it <= warmup + cycle", "/ (cycle - warmup)": "/ cycle"},
        *("run_get_lr_cosine_schedule", "schedule-span"),
    ),
    "unshifted": (
        *("naive", "basics/train.py", {"dataset[i + 1 : i + 1 +": "dataset[i : i +"}),
        *("run_get_batch", "batch-targets-not-shifted"),
    ),
    "in order of text": (
        "heap",
        "lm/tokenizer.py",
        {
            '(self.rank.get(pair, float("inf")), place)': (
                '(0 if pair in self.rank else float("inf"), place)'
            )
        },
        *("get_tokenizer", "tokenizer-merges-in-order-of-text"),
    ),
    "first rank is false": (
        "heap",
        "lm/tokenizer.py",
        {'self.rank.get(pair, float("inf"))': 'self.rank.get(pair) or float("inf")'},
        *("get_tokenizer", "tokenizer-first-merge-missing"),
    ),
    "cut where there is nothing to cut at": (
        *("naive", "basics/text.py", {"if self.special_tokens:\n": "if True:\n"}),
        *("get_tokenizer", "tokenizer-cut-at-nothing"),
    ),
    "one pattern": (
        "naive",
        "basics/text.py",
        {"re.split(pattern, text)": 're.findall(pattern[1:-1] + "|" + PAT, text)'},
        *("get_tokenizer", "tokenizer-specials-in-pattern"),
    ),
    "blank parts left out": (
        "naive",
        "basics/text.py",
        {"re.findall(PAT, part):": "re.findall(PAT, part.strip() and part):"},
        *("get_tokenizer", "tokenizer-spaces-at-specials-lost"),
    ),
    "specials lost and spaces between tokens": (
        "naive",
        "basics/text.py",
        {
            'pattern = "(" + "|".join': 'pattern = "" + "|".join',
            'self.special_tokens) + ")"': 'self.special_tokens) + ""',
            'b"".join(self.vocab': 'b" ".join(self.vocab',
        },
        *("get_tokenizer", "tokenizer-specials-lost + tokenizer-decodes-with-spaces"),
    ),
    "ties": (
        *("naive", "basics/text.py", {"lambda item: (item[1], item[0])": "lambda item: item[1]"}),
        *("run_train_bpe", "bpe-ties-first-seen"),
    ),
    "smallest ties and each word once": (
        "heap",
        "lm/bpe.py",
        {
            "self.pair > other.pair": "self.pair < other.pair",
            "list(frequency.values())": "[1] * len(pieces)",
        },
        *("run_train_bpe", "bpe-ties-smallest + bpe-words-counted-once"),
    ),
    "side by side, and cut at nothing": (
        "naive",
        "basics/text.py",
        {
            "chunks = [text]": "chunks = re.split('', text)",
            "    merges = []\n": (
                "    merges = []\n"
                "    counts = Counter(pair for word in words for pair in zip(word, word[1:]))\n"
            ),
            "        counts = Counter()\n": "",
            "counts[pair] += 1": "pass",
            "        vocab[len(vocab)] = new\n": (
                "        vocab[len(vocab)] = new\n        counts[best] = 0\n"
                "        for old in words:\n"
                "            i = 0\n"
                "            while i < len(old) - 1:\n"
                "                if (old[i], old[i + 1]) == best:\n"
                "                    for one in old[i - 1 : i] if i else ():\n"
                "                        counts[one, best[0]] -= 1\n"
                "                        counts[one, new] += 1\n"
                "                    for one in old[i + 2 : i + 3]:\n"
                "                        counts[best[1], one] -= 1\n"
                "                        counts[new, one] += 1\n"
                "                    i += 1\n"
                "                i += 1\n"
            ),
        },
        *("run_train_bpe", "bpe-cut-at-nothing + bpe-counts-side-by-side"),
    ),
    "goes on": (
        "naive",
        "basics/text.py",
        {
            "    merges = []\n": "    merges, counts = [], {}\n",
            "counts = Counter()": "counts = Counter(dict.fromkeys(counts, 0))",
        },
        *("run_train_bpe", "bpe-merges-without-pairs"),
    ),
    "goes on, and cut at nothing": (
        "naive",
        "basics/text.py",
        {
            "    merges = []\n": "    merges, counts = [], {}\n",
            "counts = Counter()": "counts = Counter(dict.fromkeys(counts, 0))",
            "chunks = [text]": "chunks = re.split('', text)",
        },
        *("run_train_bpe", "bpe-cut-at-nothing + bpe-merges-without-pairs"),
    ),
    "never counted": (
        *("heap", "lm/bpe.py", {"counts[come] += weights[number]": "counts[come] += 0"}),
        *("run_train_bpe", ") was expected"),
    ),
    "forgotten": (
        "naive",
        "basics/train.py",
        {'obj["optimizer_state_dict"]': "optimizer.state_dict()"},
        *("run_load_checkpoint", "checkpoint-optimizer-lost"),
    ),
}


@pytest.fixture(scope="module")
def grades(request, tmp_path_factory) -> dict[str, Grade]:
    """The grades of the programs and edits of the selected tests, by name."""
    folder = tmp_path_factory.mktemp("text")
    for style in asked_for(request, "style"):
        shutil.copytree(PROGRAMS / style, folder / "class" / style)
    for name in asked_for(request, "name"):
        style, file, replaced, *_ = WRONG[name]
        shutil.copytree(PROGRAMS / style, folder / "class" / name)
        module = folder / "class" / name / file
        text = module.read_text("utf-8")
        for before, after in replaced.items():
            assert text.count(before) == 1
            text = text.replace(before, after)
        module.write_text(text, "utf-8")
    results = batch(
        folder / "class",
        out=folder / "out",
        assignment=COURSE,
        adapters="tests/adapters.py",
        exercises=_asked_for(request),
        seed=11,
        jobs=2,
    )
    return {grade.submission: grade for grade in results.grades()}


def _asked_for(request: pytest.FixtureRequest) -> Sequence[str]:
    """Returns the exercises to grade: all, unless the selected tests look only at wrong ones."""
    if asked_for(request, "style"):
        return EXERCISES
    wanted = {WRONG[name][3] for name in asked_for(request, "name")}
    return sorted(wanted | TOGETHER if wanted & TOGETHER else wanted)


@pytest.mark.parametrize("style", ["heap", "pool"])
def test_a_right_program_gets_full_marks_in_any_style(grades, style):
    """Pools of processes, heaps, missing packages and decay first or last are all right."""
    wrong = {test.id: test.message for test in grades[style].tests if test.status != Status.PASSED}
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("style", ["naive"])
def test_recounting_all_words_after_each_merge_costs_only_efficiency(grades, style):
    """The numbers are right, but most of them do not change with a merge."""
    wrong = [test for test in grades[style].tests if test.status != Status.PASSED]
    assert [(test.exercise, test.aspect) for test in wrong] == [("run_train_bpe", "efficiency")]


@pytest.mark.parametrize("name", rest_slow(WRONG, ["unshifted"]))
def test_a_wrong_program_gets_the_expected_reason(grades, name):
    """The reason is a known mistake, or the first step, merge or number that differs."""
    exercise, says = WRONG[name][3:]
    # The naive program always loses efficiency.
    failed = [
        test
        for test in grades[name].tests
        if test.status != Status.PASSED and test.aspect != "efficiency"
    ]
    assert {test.exercise for test in failed} == (TOGETHER if exercise in TOGETHER else {exercise})
    told = [
        f"{test.diagnosis.mistake if test.diagnosis else ''} {test.message}"
        for test in failed
        if test.exercise == exercise
    ]
    assert any(says in one for one in told), told
