"""Composition root: puts the components together."""

from torch import Tensor

from .config import AttentionConfig, MaskPolicy, ProjectionWeights, RotaryConfig
from .encoding import RotaryEncoder
from .engine import AttentionEngine
from .layers import IdentityLayer, MultiHeadLayer, SingleHeadLayer, StackedHeadsLayer
from .masking import ExplicitMask, MaskFactory
from .scoring import PlainScore, ScaledScore


class EngineFactory:
    @staticmethod
    def plain() -> AttentionEngine:
        return AttentionEngine(PlainScore(), MaskFactory.create(MaskPolicy.FULL))

    @staticmethod
    def scaled(policy: MaskPolicy) -> AttentionEngine:
        return AttentionEngine(ScaledScore(), MaskFactory.create(policy))

    @staticmethod
    def with_mask(mask: Tensor | None) -> AttentionEngine:
        return AttentionEngine(ScaledScore(), ExplicitMask(mask))


class LayerFactory:
    """One static method per kind of layer."""

    @staticmethod
    def identity() -> IdentityLayer:
        return IdentityLayer(EngineFactory.plain())

    @staticmethod
    def single_head(
        w_query: Tensor, w_key: Tensor, w_value: Tensor, policy: MaskPolicy = MaskPolicy.FULL
    ) -> SingleHeadLayer:
        engine = EngineFactory.scaled(policy)
        return SingleHeadLayer(engine, w_query, w_key, w_value)

    @staticmethod
    def stacked(w_query: Tensor, w_key: Tensor, w_value: Tensor) -> StackedHeadsLayer:
        engine = EngineFactory.scaled(MaskPolicy.CAUSAL)
        return StackedHeadsLayer(engine, w_query, w_key, w_value)

    @staticmethod
    def multi_head(config: AttentionConfig, weights: ProjectionWeights) -> MultiHeadLayer:
        engine = EngineFactory.scaled(config.mask_policy)
        return MultiHeadLayer(engine, config, weights)

    @staticmethod
    def rotary_multi_head(
        config: AttentionConfig, weights: ProjectionWeights, theta: float, max_seq_len: int
    ) -> MultiHeadLayer:
        rotary = RotaryConfig(dim=config.d_head, theta=theta, max_seq_len=max_seq_len)
        engine = EngineFactory.scaled(config.mask_policy)
        return MultiHeadLayer(engine, config, weights, encoder=RotaryEncoder(rotary))
