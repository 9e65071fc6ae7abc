from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AttentionConfig:
    """Hyperparameters of an attention layer. `max_seq_len` switches rotary embeddings on."""

    d_model: int
    num_heads: int
    max_seq_len: int | None = None
    rope_theta: float = 10_000.0

    def __post_init__(self) -> None:
        if self.d_model % self.num_heads != 0:
            raise ValueError(f"{self.d_model=} is not a multiple of {self.num_heads=}")

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads

    @property
    def use_rope(self) -> bool:
        return self.max_seq_len is not None
