"""Mistakes in counting parameters."""

from ..steps import count_parameters
from .mistake import Mistake, Way

_COUNT = ("run_parameter_count",)


def _matrices(d_in: int, d_out: int, _qkv_bias: bool, _out_bias: bool) -> int:
    return count_parameters(d_in, d_out, False, False)


def _inputs_only(d_in: int, d_out: int, qkv_bias: bool, _out_bias: bool) -> int:
    return 3 * (d_in * d_out + d_out * qkv_bias)


def _output_from_d_in(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return _inputs_only(d_in, d_out, qkv_bias, out_bias) + d_in * d_out + d_out * out_bias


def _one_input_bias(d_in: int, d_out: int, qkv_bias: bool, out_bias: bool) -> int:
    return count_parameters(d_in, d_out, False, out_bias) + d_out * qkv_bias


MISTAKES = (
    Mistake(
        "count-without-output",
        "Your count leaves out the output projection.",
        "How many projections has multi-head attention, and what does the last of them lead from?",
        (Way({"count_parameters": _inputs_only}, _COUNT),),
        alone=True,
    ),
    Mistake(
        "count-without-biases",
        "Your count leaves out the biases.",
        "Which arguments say that there is more to a layer than its matrix?",
        (Way({"count_parameters": _matrices}, _COUNT),),
        alone=True,
    ),
    Mistake(
        "count-output-from-d_in",
        "Your count has the output projection lead from d_in features, which it never sees.",
        "How many features has a token once the heads' outputs are merged?",
        (Way({"count_parameters": _output_from_d_in}, _COUNT),),
        alone=True,
    ),
    Mistake(
        "count-one-bias-for-three",
        "Your count has one bias for queries, keys and values together, where each has its own.",
        "How many layers does the first of the two flags speak of?",
        (Way({"count_parameters": _one_input_bias}, _COUNT),),
        alone=True,
    ),
)
