"""Mistakes in counting parameters."""

from ..steps import count_inputs, count_output
from .mistake import Mistake, Way

_COUNT = ("run_parameter_count",)


def _none(_d_in: int, _d_out: int, _bias: bool) -> int:
    return 0


def _output_bias(_d_in: int, d_out: int, bias: bool) -> int:
    return d_out * bias


def _input_matrices(d_in: int, d_out: int, _bias: bool) -> int:
    return count_inputs(d_in, d_out, False)


def _output_matrix(d_in: int, d_out: int, _bias: bool) -> int:
    return count_output(d_in, d_out, False)


def _output_from_d_in(d_in: int, d_out: int, bias: bool) -> int:
    return d_in * d_out + d_out * bias


def _one_input_bias(d_in: int, d_out: int, bias: bool) -> int:
    return 3 * d_in * d_out + d_out * bias


MISTAKES = (
    Mistake(
        "count-without-output",
        "Your count leaves out the output projection.",
        "How many projections has multi-head attention, and what does the last of them lead from?",
        (Way({"count_output": _none}, _COUNT), Way({"count_output": _output_bias}, _COUNT)),
        alone=True,
    ),
    Mistake(
        "count-without-biases",
        "Your count leaves out the biases.",
        "Which arguments say that there is more to a layer than its matrix?",
        (Way({"count_inputs": _input_matrices, "count_output": _output_matrix}, _COUNT),),
        alone=True,
    ),
    Mistake(
        "count-output-from-d_in",
        "Your count has the output projection lead from d_in features, which it never sees.",
        "How many features has a token once the heads' outputs are merged?",
        (Way({"count_output": _output_from_d_in}, _COUNT),),
        alone=True,
    ),
    Mistake(
        "count-one-bias-for-three",
        "Your count has one bias for queries, keys and values together, but each has its own.",
        "How many layers does the first of the two flags speak of?",
        (Way({"count_inputs": _one_input_bias}, _COUNT),),
        alone=True,
    ),
)
