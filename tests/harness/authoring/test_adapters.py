"""The types of the adapters: every right call passes, and a wrong call or result is refused."""

import importlib.util
from pathlib import Path
from types import ModuleType

import jaxtyping
import pytest
import torch

import adapters

pytestmark = pytest.mark.unit

W = {f"{which}_proj_weight": torch.eye(6) for which in "qkvo"}
W_STACKED = {f"W_{which}": torch.ones(2, 6, 3) for which in ("query", "key", "value")}
W_SINGLE = {name: weights[0] for name, weights in W_STACKED.items()}
HEADS = {"d_model": 6, "num_heads": 3} | W
ROPE = {"theta": 10_000.0, "max_seq_len": 9}
MASK = torch.ones(5, 7, dtype=torch.bool)


def x(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(*shape, dtype=dtype)


RIGHT_CALLS = [
    ("run_softmax", {"in_features": x(5), "dim": 0}),
    ("run_softmax", {"in_features": x(2, 3, 4, dtype=torch.bfloat16), "dim": -1}),
    ("run_simple_self_attention", {"in_features": x(4, 5, 6)}),
    ("run_self_attention", W_SINGLE | {"in_features": x(5, 6)}),
    ("run_causal_mask", {"seq_len": 3}),
    ("run_attention_weights", {"Q": x(2, 3, 5, 6), "K": x(2, 3, 7, 6), "mask": MASK}),
    ("run_attention_weights", {"Q": x(5, 6), "K": x(7, 6)}),
    ("run_attention_dropout", {"weights": x(2, 5, 5), "p": 0.5, "training": True}),
    ("run_attention_dropout", {"weights": x(5), "p": 0, "training": False}),
    ("run_scaled_dot_product_attention", {"Q": x(2, 5, 6), "K": x(2, 7, 6), "V": x(2, 7, 4)}),
    (
        "run_scaled_dot_product_attention",
        {"Q": x(3, 2, 5, 6), "K": x(3, 2, 7, 6), "V": x(3, 2, 7, 6), "mask": MASK[None, None]},
    ),
    ("run_causal_self_attention", W_SINGLE | {"in_features": x(2, 3, 5, 6)}),
    ("run_multihead_attention_stacked", W_STACKED | {"in_features": x(4, 5, 6)}),
    ("run_multihead_self_attention", HEADS | {"in_features": x(2, 5, 6)}),
    (
        "run_multihead_attention",
        HEADS | {"query": x(5, 6), "key": x(7, 6), "value": x(7, 6), "is_causal": False},
    ),
    ("run_sinusoidal_positional_encoding", {"seq_len": 5, "d_model": 6}),
    (
        "run_rope",
        ROPE | {"d_k": 6, "in_query_or_key": x(2, 3, 5, 6), "token_positions": torch.arange(5)},
    ),
    (
        "run_rope",
        {"d_k": 6, "theta": 10_000, "max_seq_len": 9, "in_query_or_key": x(2, 3, 5, 6)}
        | {"token_positions": torch.ones(2, 1, 5, dtype=torch.int32)},
    ),
    ("run_multihead_self_attention_with_rope", HEADS | ROPE | {"in_features": x(2, 5, 6)}),
    (
        "run_multihead_self_attention_with_rope",
        HEADS | ROPE | {"in_features": x(2, 5, 6), "token_positions": torch.arange(5)[None]},
    ),
    ("run_parameter_count", {"d_in": 3, "d_out": 3, "qkv_bias": False, "out_bias": True}),
]
WRONG_CALLS = [
    ("run_attention_weights", {"Q": x(5, 6), "K": x(7, 6), "mask": MASK.float()}),
    ("run_attention_weights", {"Q": x(5, 6), "K": x(7, 6), "mask": MASK.T}),
    ("run_scaled_dot_product_attention", {"Q": x(5, 6), "K": x(7, 6), "V": x(5, 6)}),
    ("run_self_attention", W_SINGLE | {"in_features": x(5, 4)}),
    ("run_simple_self_attention", {"in_features": torch.ones(5, 6, dtype=torch.int64)}),
    ("run_rope", ROPE | {"d_k": 6, "in_query_or_key": x(5, 6), "token_positions": x(5)}),
]


@pytest.fixture(scope="module")
def checked_adapters() -> ModuleType:
    """The adapters with their types checked, whatever this process has set before."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", False)
    spec = importlib.util.spec_from_file_location("checked_adapters", Path(adapters.__file__))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.mark.parametrize(("name", "arguments"), RIGHT_CALLS)
def test_a_right_call_reaches_the_stub(checked_adapters, name, arguments):
    """No annotation refuses a right call; the stub raises that it is not written yet."""
    with pytest.raises(NotImplementedError, match="is not written yet"):
        getattr(checked_adapters, name)(**arguments)


@pytest.mark.parametrize(("name", "arguments"), WRONG_CALLS)
def test_a_call_with_wrong_types_is_refused(checked_adapters, name, arguments):
    """A float mask, swapped axes, other lengths and float positions are refused."""
    with pytest.raises(jaxtyping.TypeCheckError):
        getattr(checked_adapters, name)(**arguments)


def test_a_result_of_the_wrong_shape_is_refused(checked_adapters, monkeypatch):
    """Results are checked too: two heads of three features are six wide."""
    arguments = W_STACKED | {"in_features": x(4, 5, 6)}
    stacked = "multihead_attention_stacked"
    monkeypatch.setattr(checked_adapters.attention, stacked, lambda *_: x(4, 5, 6))
    checked_adapters.run_multihead_attention_stacked(**arguments)
    monkeypatch.setattr(checked_adapters.attention, stacked, lambda *_: x(4, 5, 3))
    with pytest.raises(jaxtyping.TypeCheckError):
        checked_adapters.run_multihead_attention_stacked(**arguments)
