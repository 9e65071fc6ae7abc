from layers.attention import Attention, GivenMask, Unscaled
from layers.counting import Biased, Matrix
from layers.dropout import Dropout
from layers.heads import CausalMultiHead, MultiHead, RotaryMultiHead, StackedHeads
from layers.positions import Rotary, Sinusoidal
from layers.projected import CausalProjected, Projected

__all__ = [
    "Attention",
    "Biased",
    "CausalMultiHead",
    "CausalProjected",
    "Dropout",
    "GivenMask",
    "Matrix",
    "MultiHead",
    "Projected",
    "Rotary",
    "RotaryMultiHead",
    "Sinusoidal",
    "StackedHeads",
    "Unscaled",
]
