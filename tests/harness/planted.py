"""Ten mistakes, each planted in one line of a right submission, with the expected explanation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.harness.conftest import ROOT

RIGHT = ROOT / "examples/class/dana-okafor"
HEADS, WARMUP = "assignment/heads.py", "assignment/warmup.py"


@dataclass(frozen=True, slots=True)
class Slip:
    """A wrong line for a right submission, and its explanation in every output.

    `test` is one of the failing tests, and far from the root.
    """

    file: str
    right: str
    wrong: str
    sentence: str
    hint: str
    test: str

    def told(self) -> list[str]:
        """Returns the sentence, the hint and the line."""
        return [self.sentence, self.hint, f"{self.file}:"]

    def plant(self, folder: Path) -> None:
        """Puts the wrong line into a right submission."""
        text = (folder / self.file).read_text("utf-8")
        assert self.right in text
        (folder / self.file).write_text(text.replace(self.right, self.wrong, 1), "utf-8")


MHA = "tests/public/test_multihead_attention.py::test_multihead_attention"
ROPE = "tests/public/test_multihead_self_attention_with_rope.py::test_multihead_with_rope"
STACKED = "tests/public/test_multihead_attention_stacked.py::test_stacked_heads"
SLIPS = {
    "mask-inverted": Slip(
        HEADS,
        "torch.where(mask, scores",
        "torch.where(~mask, scores",
        "mask works the wrong way round",
        "Does True in a mask stand for allowed or hidden",
        f"{MHA}_to_itself_causal",
    ),
    "softmax-over-queries": Slip(
        HEADS,
        "softmax(scores, dim=-1)",
        "softmax(scores, dim=-2)",
        "softmax runs along the queries",
        "Which weights must add up to 1",
        f"{MHA}_to_itself",
    ),
    "no-scale": Slip(
        HEADS,
        "scores = scores / d_k ** 0.5",
        "scores = scores",
        "scores are not scaled before the softmax",
        "How does the spread of a dot product grow",
        f"{ROPE}_without_positions",
    ),
    "scale-by-d_k": Slip(
        HEADS,
        "d_k ** 0.5",
        "d_k",
        "scores are divided by d_k itself",
        "Look at the denominator in the formula",
        f"{STACKED}_with_other_weights",
    ),
    "causal-reversed": Slip(
        WARMUP,
        "column <= row",
        "column >= row",
        "causal mask is transposed",
        "Write down the mask for three tokens",
        f"{STACKED}_of_a_batch",
    ),
    "causal-sees-next": Slip(
        WARMUP,
        "column <= row",
        "column <= row + 1",
        "lets each token see the one after it",
        "Count what the first token may see",
        f"{MHA}_to_itself_causal",
    ),
    "projection-transposed": Slip(
        HEADS,
        "torch.matmul(torch.cat(outputs, dim=-1), Wo.T)",
        "torch.matmul(torch.cat(outputs, dim=-1), Wo)",
        "output projection sums over the wrong axis of its weight",
        "Over which axis of the output weight",
        f"{ROPE}_with_other_weights",
    ),
    "dropout-unscaled": Slip(
        WARMUP,
        "survivors / (1 - p)",
        "survivors",
        "weights that your dropout keeps are not scaled",
        "what must happen to the others for the mean to stay",
        "tests/public/test_attention_dropout.py::test_dropout_scales_what_it_keeps[0.5]",
    ),
    "an exception": Slip(
        HEADS,
        "torch.cat(outputs, dim=-1)",
        "torch.cat(outputs, dim=-2)",
        "mat1 and mat2 shapes cannot be multiplied",
        "Check an axis of `cat`",
        f"{MHA}_to_itself",
    ),
    "no known mistake": Slip(
        WARMUP,
        "torch.sum(numerator, dim=dim",
        "torch.sum(numerator, dim=-1",
        "every value is wrong",
        "heck a hard-coded value",
        "tests/public/test_softmax.py::test_softmax_along_any_axis[(3, 4, 2)--2]",
    ),
}
# A sweep tries all of them.
LOOKED_AT_SOONER = ("mask-inverted", "an exception", "no known mistake")
# All but these fail most exercises.
OF_ONE_EXERCISE = ("dropout-unscaled", "no known mistake")
