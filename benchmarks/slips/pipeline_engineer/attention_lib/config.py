"""Value objects and enums. No logic in here."""

from dataclasses import dataclass
from enum import Enum

from torch import Tensor


class MaskPolicy(Enum):
    """Who may look at whom."""

    FULL = "full"
    CAUSAL = "causal"

    @staticmethod
    def from_flag(is_causal: bool) -> "MaskPolicy":
        return MaskPolicy.CAUSAL if is_causal else MaskPolicy.FULL


@dataclass(frozen=True)
class AttentionConfig:
    """Immutable settings of a multi-head layer."""

    d_model: int
    num_heads: int
    mask_policy: MaskPolicy = MaskPolicy.CAUSAL

    def __post_init__(self) -> None:
        if self.d_model % self.num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")

    @property
    def d_head(self) -> int:
        return self.d_model // self.num_heads


@dataclass(frozen=True)
class RotaryConfig:
    """Settings of the rotary encoder (hashable, it is the key of the table cache)."""

    dim: int
    theta: float = 10_000.0
    max_seq_len: int = 2048


@dataclass(frozen=True, eq=False)
class ProjectionWeights:
    """The four weight matrices of a multi-head layer, all in nn.Linear layout (out, in)."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
