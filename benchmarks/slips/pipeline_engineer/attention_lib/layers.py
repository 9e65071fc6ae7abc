"""Attention layers. The base class holds the algorithm, subclasses fill in the steps."""

from abc import ABC, abstractmethod

from torch import Tensor

from .config import AttentionConfig, ProjectionWeights
from .encoding import NoPositions, PositionEncoder
from .engine import AttentionEngine


class HeadLayout:
    """Converts between (..., seq, d_model) and (..., heads, seq, d_head)."""

    def __init__(self, num_heads: int, d_head: int) -> None:
        self._num_heads = num_heads
        self._d_head = d_head

    def split(self, x: Tensor) -> Tensor:
        separated = x.unflatten(-1, (self._num_heads, self._d_head))
        return separated.transpose(-3, -2)

    def merge(self, x: Tensor) -> Tensor:
        tokens_first = x.transpose(-3, -2)
        return tokens_first.flatten(start_dim=-2)


class AbstractAttentionLayer(ABC):
    """project -> encode positions -> attend -> combine."""

    def __init__(self, engine: AttentionEngine) -> None:
        self._engine = engine

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None = None
    ) -> Tensor:
        q = self.project_query(query)
        k = self.project_key(key)
        v = self.project_value(value)
        q = self.encode_positions(q, positions)
        k = self.encode_positions(k, positions)
        context = self._engine.attend(q, k, v)
        return self.combine(context)

    def forward_self(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        return self.forward(x, x, x, positions)

    @abstractmethod
    def project_query(self, x: Tensor) -> Tensor: ...

    @abstractmethod
    def project_key(self, x: Tensor) -> Tensor: ...

    @abstractmethod
    def project_value(self, x: Tensor) -> Tensor: ...

    def encode_positions(self, x: Tensor, positions: Tensor | None) -> Tensor:
        return x

    def combine(self, context: Tensor) -> Tensor:
        return context


class IdentityLayer(AbstractAttentionLayer):
    """Tokens are queries, keys and values at once."""

    def project_query(self, x: Tensor) -> Tensor:
        return x

    def project_key(self, x: Tensor) -> Tensor:
        return x

    def project_value(self, x: Tensor) -> Tensor:
        return x


class SingleHeadLayer(AbstractAttentionLayer):
    """Weights of shape (d_in, d_out) that multiply from the right."""

    def __init__(
        self, engine: AttentionEngine, w_query: Tensor, w_key: Tensor, w_value: Tensor
    ) -> None:
        super().__init__(engine)
        self._w_query = w_query
        self._w_key = w_key
        self._w_value = w_value

    def project_query(self, x: Tensor) -> Tensor:
        return x @ self._w_query

    def project_key(self, x: Tensor) -> Tensor:
        return x @ self._w_key

    def project_value(self, x: Tensor) -> Tensor:
        return x @ self._w_value


class StackedHeadsLayer(SingleHeadLayer):
    """The same with weights (heads, d_in, d_head): an axis for the heads is put before seq."""

    def forward_self(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        per_head = x.unsqueeze(-3)
        return super().forward_self(per_head, positions)

    def combine(self, context: Tensor) -> Tensor:
        num_heads, d_in, d_head = self._w_value.shape
        return HeadLayout(num_heads, d_head).merge(context)


class MultiHeadLayer(AbstractAttentionLayer):
    """Projections in nn.Linear layout, split into heads, with an output projection."""

    def __init__(
        self,
        engine: AttentionEngine,
        config: AttentionConfig,
        weights: ProjectionWeights,
        encoder: PositionEncoder | None = None,
    ) -> None:
        super().__init__(engine)
        self._layout = HeadLayout(config.num_heads, config.d_head)
        self._weights = weights
        self._encoder = encoder or NoPositions()

    @staticmethod
    def _linear(x: Tensor, weight: Tensor) -> Tensor:
        return x @ weight.mT

    def project_query(self, x: Tensor) -> Tensor:
        return self._layout.split(self._linear(x, self._weights.query))

    def project_key(self, x: Tensor) -> Tensor:
        return self._layout.split(self._linear(x, self._weights.key))

    def project_value(self, x: Tensor) -> Tensor:
        return self._layout.split(self._linear(x, self._weights.value))

    def encode_positions(self, x: Tensor, positions: Tensor | None) -> Tensor:
        if positions is not None:
            positions = positions.unsqueeze(-2)  # the same for every head
        return self._encoder.encode(x, positions)

    def combine(self, context: Tensor) -> Tensor:
        merged = self._layout.merge(context)
        return self._linear(merged, self._weights.output)
