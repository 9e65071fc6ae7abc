from .heads import CausalHead, Head, PlainHead, StackedHeads
from .multihead import CrossAttention, MultiHead, RotaryMultiHead
from .positions import Rotary, Sinusoidal
from .scores import Dropout, Softmax, Triangle, Weights

__all__ = [
    "CausalHead",
    "CrossAttention",
    "Dropout",
    "Head",
    "MultiHead",
    "PlainHead",
    "Rotary",
    "RotaryMultiHead",
    "Sinusoidal",
    "Softmax",
    "StackedHeads",
    "Triangle",
    "Weights",
]
