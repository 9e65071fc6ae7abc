"""Programs with a mistake in one place that all exercises use, or in each place by itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping

_PARTS = {
    "softmax": """
        def softmax(x, dim):
            e = torch.exp(x - x.amax(dim=dim, keepdim=True))
            return e / e.sum(dim=dim, keepdim=True)
        """,
    "scale": """
        def scale(scores, d_k):
            return scores / d_k**0.5
        """,
    "axis": """
        def axis():
            return -1
        """,
    "causal": """
        def causal(n, device=None):
            return torch.ones(n, n, dtype=torch.bool, device=device).tril()
        """,
    "hidden": """
        def hidden(scores, mask):
            return scores.masked_fill(~mask, float("-inf"))
        """,
    "scores": """
        def scores(q, k):
            return q @ k.transpose(-2, -1)
        """,
    "cut": """
        def cut(x, heads):
            return x.unflatten(-1, (heads, -1)).transpose(-3, -2)
        """,
    "merge": """
        def merge(x):
            return x.transpose(-3, -2).flatten(-2)
        """,
    "linear": """
        def linear(x, weight):
            return x @ weight.T
        """,
    "out": """
        def out(x, weight):
            return x @ weight.T
        """,
    "frequencies": """
        def frequencies(d, theta, device):
            first = torch.arange(0, d, 2, dtype=torch.float32, device=device)
            return theta ** (-first / d)
        """,
    "turn": """
        def turn(x, angles):
            cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
        """,
    "rest": """
        def weigh(q, k, mask):
            s = {0}scale({0}scores(q, k), q.shape[-1])
            if mask is not None:
                s = {0}hidden(s, mask)
            return {0}softmax(s, {0}axis())

        def attend(q, k, v, mask=None):
            return {0}weigh(q, k, mask) @ v

        def rope(x, theta, positions):
            f = {0}frequencies(x.shape[-1], theta, x.device)
            return {0}turn(x, positions[..., None].float() * f)

        def multi(heads, wq, wk, wv, wo, q, k, v, is_causal, turned=lambda x: x):
            q, k, v = (
                {0}cut({0}linear(x, w), heads) for x, w in ((q, wq), (k, wk), (v, wv))
            )
            mask = {0}causal(q.shape[-2], q.device) if is_causal else None
            return {0}out({0}merge({0}attend(turned(q), turned(k), v, mask)), wo)
        """,
}
_FUNCTIONS = {
    "run_softmax": """(in_features, dim):
            return {0}softmax(in_features, dim)
        """,
    "run_simple_self_attention": """(in_features):
            s = {0}scores(in_features, in_features)
            return {0}softmax(s, {0}axis()) @ in_features
        """,
    "run_self_attention": """(W_query, W_key, W_value, in_features):
            q, k, v = (in_features @ w for w in (W_query, W_key, W_value))
            return {0}attend(q, k, v)
        """,
    "run_causal_mask": """(seq_len):
            return {0}causal(seq_len)
        """,
    "run_attention_weights": """(Q, K, mask=None):
            return {0}weigh(Q, K, mask)
        """,
    "run_attention_dropout": """(weights, p, training):
            return torch.nn.functional.dropout(weights, p, training)
        """,
    "run_scaled_dot_product_attention": """(Q, K, V, mask=None):
            return {0}attend(Q, K, V, mask)
        """,
    "run_causal_self_attention": """(W_query, W_key, W_value, in_features):
            q, k, v = (in_features @ w for w in (W_query, W_key, W_value))
            return {0}attend(q, k, v, {0}causal(in_features.shape[-2], in_features.device))
        """,
    "run_multihead_attention_stacked": """(W_query, W_key, W_value, in_features):
            x = in_features.unsqueeze(-3)
            mask = {0}causal(in_features.shape[-2], in_features.device)
            heads = {0}attend(x @ W_query, x @ W_key, x @ W_value, mask)
            return {0}merge(heads)
        """,
    "run_multihead_self_attention": """(d_model, num_heads, q_proj_weight, k_proj_weight,
                v_proj_weight, o_proj_weight, in_features):
            x = in_features
            ws = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
            return {0}multi(num_heads, *ws, x, x, x, True)
        """,
    "run_multihead_attention": """(d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight,
                o_proj_weight, query, key, value, is_causal):
            ws = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
            return {0}multi(num_heads, *ws, query, key, value, is_causal)
        """,
    "run_parameter_count": """(d_in, d_out, qkv_bias, out_bias):
            return 3 * (d_in * d_out + d_out * qkv_bias) + d_out * d_out + d_out * out_bias
        """,
    "run_sinusoidal_positional_encoding": """(seq_len, d_model):
            first = torch.arange(0, d_model, 2, dtype=torch.float64)
            angles = torch.arange(seq_len)[:, None] * 10000.0 ** (-first / d_model)
            return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()
        """,
    "run_rope": """(d_k, theta, max_seq_len, in_query_or_key, token_positions):
            return {0}rope(in_query_or_key, theta, token_positions)
        """,
    "run_multihead_self_attention_with_rope": """(d_model, num_heads, max_seq_len, theta,
                q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features,
                token_positions=None):
            x = in_features
            if token_positions is None:
                token_positions = torch.arange(x.shape[-2], device=x.device)
            positions = token_positions.unsqueeze(-2)
            ws = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
            return {0}multi(num_heads, *ws, x, x, x, True, lambda h: {0}rope(h, theta, positions))
        """,
}
EXERCISES = tuple(_FUNCTIONS)


def modular(wrong: Mapping[str, str], others: Collection[str] = ()) -> str:
    """Returns a program whose parts are written once; `wrong` replaces some of them.

    The exercises in `others` have right parts of their own.
    """
    own = _FUNCTIONS.keys() - {*others}
    right = _class("Right", {}) if others else ""
    functions = (_function(name, "Shared" if name in own else "Right") for name in _FUNCTIONS)
    return "\n".join(["import torch\n", _class("Shared", wrong), right, *functions])


def repeated(wrong: Mapping[str, str], written_in: Collection[str]) -> str:
    """Returns a program with separate parts for each exercise; those for `written_in` are wrong."""
    pieces = ["import torch\n"]
    for name in _FUNCTIONS:
        place = "Of_" + name.removeprefix("run_")
        pieces += [_class(place, wrong if name in written_in else {}), _function(name, place)]
    return "\n".join(pieces)


def _class(name: str, wrong: Mapping[str, str]) -> str:
    lines = [f"class {name}:"]
    for part in (wrong.get(key, text) for key, text in _PARTS.items()):
        for line in part.format(f"{name}.").strip("\n").splitlines():
            indented = line[4:] if line.strip() else ""
            if indented.startswith("    def "):
                lines.append("    @staticmethod")
            lines.append(indented)
    return "\n".join(lines) + "\n"


def _function(name: str, parts: str) -> str:
    lines = _FUNCTIONS[name].format(f"{parts}.").rstrip().splitlines()
    return f"def {name}" + "\n".join([lines[0], *(line[8:] for line in lines[1:])]) + "\n"


NO_SCALE = {
    "scale": """
        def scale(scores, d_k):
            return scores
        """
}
SCALE_BY_D_K = {"scale": NO_SCALE["scale"].replace("return scores", "return scores / d_k")}
MASK_INVERTED = {"hidden": _PARTS["hidden"].replace("~mask", "mask")}
SOFTMAX_OVER_QUERIES = {"axis": _PARTS["axis"].replace("-1", "-2")}
CAUSAL_MISSING = {"causal": _PARTS["causal"].replace(".tril()", "")}
CAUSAL_REVERSED = {"causal": _PARTS["causal"].replace("tril", "triu")}
QK_SWAPPED = {"scores": _PARTS["scores"].replace("q @ k.", "k @ q.")}
HEADS_SPLIT = {
    "cut": """
        def cut(x, heads):
            *lead, n, d = x.shape
            return x.reshape(*lead, heads, n, d // heads)
        """
}
PROJECTION_TRANSPOSED = {
    "linear": _PARTS["linear"].replace("weight.T", "weight"),
    "out": _PARTS["out"].replace("weight.T", "weight"),
}
ROPE_HALF_SPLIT = {
    "turn": """
        def turn(x, angles):
            cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
            a, b = x.chunk(2, dim=-1)
            return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)
        """
}
ROPE_FREQUENCY = {"frequencies": _PARTS["frequencies"].replace("-first / d", "-2 * first / d")}
