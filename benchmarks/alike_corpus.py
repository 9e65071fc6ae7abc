"""A class for `benchmarks/alike.py`: independent programs, and disguised copies of some of them.

The programs in `benchmarks/slips.zip` and `tests/harness/corpus/right` were each written by a
different person. Any further programs are generated from idioms. Each generated program chooses an
idiom at each step, as students do, so that two of them share many lines without copying.
"""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from torch import Tensor

from benchmarks.slips_archive import styles, submission

ROOT = Path(__file__).parents[1]
RIGHT = ROOT / "tests" / "harness" / "corpus" / "right"
SCORES = [
    "scores = Q @ K.transpose(-2, -1)",
    "scores = torch.matmul(Q, K.transpose(-1, -2))",
    "scores = torch.einsum('...qd,...kd->...qk', Q, K)",
    "scores = einsum(Q, K, '... q d, ... k d -> ... q k')",
    "scores = Q.matmul(K.mT)",
    "scores = torch.matmul(Q, rearrange(K, '... k d -> ... d k'))",
]
SCALES = [
    "scores = scores / math.sqrt(Q.shape[-1])",
    "scores = scores / Q.shape[-1] ** 0.5",
    "scores = scores * Q.size(-1) ** -0.5",
    "d_k = K.shape[-1]\nscores = scores / math.sqrt(d_k)",
    "scale = 1.0 / math.sqrt(Q.size(-1))\nscores = scale * scores",
    "scores = scores / torch.sqrt(torch.tensor(float(Q.shape[-1])))",
]
MASKS = [
    "if mask is not None:\n    scores = scores.masked_fill(~mask, float('-inf'))",
    "if mask is not None:\n    scores = torch.where(mask, scores, float('-inf'))",
    "if mask is not None:\n    scores = scores.masked_fill(mask == 0, -torch.inf)",
    "if mask is None:\n    pass\nelse:\n    scores.masked_fill_(mask.logical_not(), -math.inf)",
    "if mask is not None:\n    bias = torch.zeros_like(mask, dtype=scores.dtype)\n"
    "    bias[~mask] = float('-inf')\n    scores = scores + bias",
    "scores = scores if mask is None else scores.masked_fill(torch.logical_not(mask), -1e30)",
]
NORMALISED = [
    "F.softmax(scores, dim=-1)",
    "torch.softmax(scores, dim=-1)",
    "scores.softmax(-1)",
    "run_softmax(scores, -1)",
    "run_softmax(in_features=scores, dim=scores.dim() - 1)",
]
SOFTMAXES = [
    "x = in_features - in_features.max(dim=dim, keepdim=True).values\ne = torch.exp(x)\n"
    "return e / e.sum(dim=dim, keepdim=True)",
    "top = torch.amax(in_features, dim=dim, keepdim=True)\nexps = (in_features - top).exp()\n"
    "return exps / torch.sum(exps, dim=dim, keepdim=True)",
    "return F.softmax(in_features, dim=dim)",
    "return torch.exp(in_features - torch.logsumexp(in_features, dim, keepdim=True))",
    "largest, _ = torch.max(in_features, dim, keepdim=True)\n"
    "numerator = torch.exp(in_features - largest)\ndenominator = numerator.sum(dim, keepdim=True)\n"
    "return numerator / denominator",
    "return torch.softmax(in_features, dim)",
]
CAUSAL = [
    "return torch.tril(torch.ones(seq_len, seq_len, dtype=torch.bool))",
    "return ~torch.triu(torch.ones(seq_len, seq_len, dtype=torch.bool), diagonal=1)",
    "i = torch.arange(seq_len)\nreturn i[:, None] >= i[None, :]",
    "rows = torch.arange(seq_len).unsqueeze(1)\ncolumns = torch.arange(seq_len).unsqueeze(0)\n"
    "return columns <= rows",
    "return torch.ones(seq_len, seq_len).tril().bool()",
    "mask = torch.full((seq_len, seq_len), True)\nreturn mask.tril()",
]
DROPOUTS = [
    "return F.dropout(weights, p=p, training=training)",
    "if not training or p == 0:\n    return weights\n"
    "keep = (torch.rand_like(weights) > p).to(weights.dtype)\nreturn weights * keep / (1 - p)",
    "return nn.Dropout(p).train(training)(weights)",
    "if training:\n    keep = torch.bernoulli(torch.full_like(weights, 1 - p))\n"
    "    weights = weights * keep / (1.0 - p)\nreturn weights",
    "if not training:\n    return weights\ndropped = torch.rand(weights.shape) < p\n"
    "return weights.masked_fill(dropped, 0.0) / (1 - p)",
]
SIMPLE = [
    "scores = in_features @ in_features.transpose(-2, -1)\n"
    "return run_softmax(scores, -1) @ in_features",
    "weights = torch.softmax(torch.einsum('...id,...jd->...ij', in_features, in_features), -1)\n"
    "return torch.einsum('...ij,...jd->...id', weights, in_features)",
    "dots = torch.matmul(in_features, in_features.mT)\nattention = F.softmax(dots, dim=-1)\n"
    "return torch.matmul(attention, in_features)",
    "x = in_features\nw = x.matmul(x.transpose(-1, -2)).softmax(dim=-1)\nreturn w.matmul(x)",
]
PROJECTED = [
    "Q = in_features @ W_query\nK = in_features @ W_key\nV = in_features @ W_value",
    "Q, K, V = (in_features @ W for W in (W_query, W_key, W_value))",
    "Q = torch.matmul(in_features, W_query)\nK = torch.matmul(in_features, W_key)\n"
    "V = torch.matmul(in_features, W_value)",
    "stacked = torch.cat((W_query, W_key, W_value), dim=1)\n"
    "Q, K, V = (in_features @ stacked).chunk(3, dim=-1)",
    "Q = einsum(in_features, W_query, '... s i, i o -> ... s o')\n"
    "K = einsum(in_features, W_key, '... s i, i o -> ... s o')\n"
    "V = einsum(in_features, W_value, '... s i, i o -> ... s o')",
]
STACKED = [
    "mask = run_causal_mask(in_features.shape[-2])\nout = []\nfor h in range(W_query.shape[0]):\n"
    "    Q, K, V = in_features @ W_query[h], in_features @ W_key[h], in_features @ W_value[h]\n"
    "    out.append(run_scaled_dot_product_attention(Q, K, V, mask))\n"
    "return torch.cat(out, dim=-1)",
    "return torch.cat(\n    [run_causal_self_attention(q, k, v, in_features)\n"
    "     for q, k, v in zip(W_query, W_key, W_value)], dim=-1)",
    "x = in_features.unsqueeze(-3)\nmask = run_causal_mask(x.size(-2))\n"
    "heads = run_scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value, mask)\n"
    "return rearrange(heads, '... h s d -> ... s (h d)')",
    "q = torch.einsum('...si,hio->...hso', in_features, W_query)\n"
    "k = torch.einsum('...si,hio->...hso', in_features, W_key)\n"
    "v = torch.einsum('...si,hio->...hso', in_features, W_value)\n"
    "heads = run_scaled_dot_product_attention(q, k, v, run_causal_mask(in_features.shape[-2]))\n"
    "return heads.transpose(-3, -2).flatten(-2)",
]
SPLITS = [
    "return t.view(*t.shape[:-1], num_heads, t.shape[-1] // num_heads).transpose(-3, -2)",
    "return rearrange(t, '... s (h d) -> ... h s d', h=num_heads)",
    "return t.unflatten(-1, (num_heads, -1)).transpose(-2, -3)",
    "*lead, seq, width = t.shape\nd_head = width // num_heads\n"
    "t = t.reshape(*lead, seq, num_heads, d_head)\nreturn t.swapaxes(-2, -3)",
    "return torch.stack(t.chunk(num_heads, dim=-1), dim=-3)",
]
MERGES = [
    "t = t.transpose(-3, -2)\nreturn t.reshape(*t.shape[:-2], -1)",
    "return rearrange(t, '... h s d -> ... s (h d)')",
    "return t.transpose(-3, -2).flatten(start_dim=-2)",
    "return torch.cat(t.unbind(-3), dim=-1)",
    "t = t.swapaxes(-2, -3).contiguous()\n*lead, h, d = t.shape\nreturn t.view(*lead, h * d)",
]
LINEAR = [
    "return x @ W.T",
    "return F.linear(x, W)",
    "return torch.einsum('...i,oi->...o', x, W)",
    "return torch.matmul(x, W.transpose(0, 1))",
    "return einsum(x, W, '... i, o i -> ... o')",
]
FREQUENCIES = [
    "freqs = 1.0 / theta ** (torch.arange(0, d_k, 2).float() / d_k)",
    "freqs = theta ** (-torch.arange(0, d_k, 2) / d_k)",
    "k = torch.arange(d_k // 2)\nfreqs = torch.pow(theta, -2.0 * k / d_k)",
    "exponents = torch.arange(0, d_k, 2, dtype=torch.float32) / d_k\n"
    "freqs = torch.exp(-math.log(theta) * exponents)",
    "freqs = torch.tensor([theta ** (-2 * i / d_k) for i in range(d_k // 2)])",
]
ANGLES = [
    "angles = token_positions.unsqueeze(-1) * freqs",
    "angles = torch.einsum('...s,f->...sf', token_positions.float(), freqs)",
    "angles = token_positions[..., None].float() * freqs[None, :]",
    "table = torch.outer(torch.arange(max_seq_len).float(), freqs)\n"
    "angles = table[token_positions]",
]
TURNS = [
    "cos, sin = angles.cos(), angles.sin()\neven, odd = x[..., 0::2], x[..., 1::2]\n"
    "return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)",
    "cos, sin = torch.cos(angles), torch.sin(angles)\nout = torch.empty_like(x)\n"
    "out[..., ::2] = x[..., ::2] * cos - x[..., 1::2] * sin\n"
    "out[..., 1::2] = x[..., ::2] * sin + x[..., 1::2] * cos\nreturn out",
    "turned = torch.polar(torch.ones_like(angles), angles)\n"
    "pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))\n"
    "return torch.view_as_real(pairs * turned).flatten(-2)",
    "cos = angles.cos().repeat_interleave(2, dim=-1)\nsin = angles.sin().repeat_interleave(2, -1)\n"
    "x1, x2 = x[..., 0::2], x[..., 1::2]\nhalf = torch.stack((-x2, x1), dim=-1).reshape(x.shape)\n"
    "return x * cos + half * sin",
    "a, b = rearrange(x, '... (p two) -> two ... p', two=2)\nc, s = angles.cos(), angles.sin()\n"
    "first, second = a * c - b * s, a * s + b * c\n"
    "return rearrange([first, second], 'two ... p -> ... (p two)')",
]
TABLES = [
    "position = torch.arange(seq_len).unsqueeze(1)\n"
    "div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))\n"
    "pe = torch.zeros(seq_len, d_model)\npe[:, 0::2] = torch.sin(position * div_term)\n"
    "pe[:, 1::2] = torch.cos(position * div_term)\nreturn pe",
    "pos = torch.arange(seq_len, dtype=torch.float32)[:, None]\n"
    "i = torch.arange(0, d_model, 2, dtype=torch.float32)\nangle = pos / 10000 ** (i / d_model)\n"
    "return torch.stack([angle.sin(), angle.cos()], dim=-1).reshape(seq_len, d_model)",
    "table = torch.empty(seq_len, d_model)\nfor k in range(0, d_model, 2):\n"
    "    angle = torch.arange(seq_len) / 10000 ** (k / d_model)\n"
    "    table[:, k] = torch.sin(angle)\n    table[:, k + 1] = torch.cos(angle)\nreturn table",
    "rates = 10000.0 ** (-torch.arange(0, d_model, 2) / d_model)\n"
    "grid = torch.outer(torch.arange(seq_len).float(), rates)\n"
    "return torch.cat([grid.sin()[..., None], grid.cos()[..., None]], -1).flatten(1)",
]
COUNTS = [
    "total = 3 * d_in * d_out + d_out * d_out\nif qkv_bias:\n    total += 3 * d_out\n"
    "if out_bias:\n    total += d_out\nreturn total",
    "return 3 * d_out * (d_in + qkv_bias) + d_out * (d_out + out_bias)",
    "qkv = 3 * (d_in * d_out + (d_out if qkv_bias else 0))\n"
    "out = d_out * d_out + (d_out if out_bias else 0)\nreturn qkv + out",
    "layers = [nn.Linear(d_in, d_out, bias=qkv_bias) for _ in range(3)]\n"
    "layers.append(nn.Linear(d_out, d_out, bias=out_bias))\n"
    "return sum(p.numel() for layer in layers for p in layer.parameters())",
]
IMPORTS = (
    "import math\n\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    "from einops import einsum, rearrange\n"
)
WEIGHTS = "q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight"


def program(seed: int) -> dict[str, str]:
    """Returns the files of one generated program by their names."""
    draw = random.Random(f"alike {seed}")
    pick = draw.choice
    linear, split, merge = (pick(names) for names in HELPERS)
    scores = [pick(SCORES), pick(SCALES), pick(MASKS)]
    weights = "\n".join([*scores, f"return {pick(NORMALISED)}"])
    whole = [pick(SCORES), pick(SCALES), pick(MASKS), f"weights = {pick(NORMALISED)}"]
    output = pick(
        ["return weights @ V", "return torch.matmul(weights, V)", "return weights.matmul(V)"]
    )
    shared = "weights = run_attention_weights(Q, K, mask)\n" + output
    attention = shared if draw.random() < 0.6 else "\n".join([*whole, output])
    functions = {
        "run_softmax(in_features, dim)": pick(SOFTMAXES),
        "run_simple_self_attention(in_features)": pick(SIMPLE),
        "run_self_attention(W_query, W_key, W_value, in_features)": pick(PROJECTED)
        + "\nreturn run_scaled_dot_product_attention(Q, K, V)",
        "run_causal_mask(seq_len)": pick(CAUSAL),
        "run_attention_weights(Q, K, mask=None)": weights,
        "run_attention_dropout(weights, p, training)": pick(DROPOUTS),
        "run_scaled_dot_product_attention(Q, K, V, mask=None)": attention,
        "run_causal_self_attention(W_query, W_key, W_value, in_features)": pick(PROJECTED)
        + "\nmask = run_causal_mask(in_features.shape[-2])"
        + "\nreturn run_scaled_dot_product_attention(Q, K, V, mask)",
        "run_multihead_attention_stacked(W_query, W_key, W_value, in_features)": pick(STACKED),
        f"{linear}(x, W)": pick(LINEAR),
        f"{split}(t, num_heads)": pick(SPLITS),
        f"{merge}(t)": pick(MERGES),
        "run_parameter_count(d_in, d_out, qkv_bias, out_bias)": pick(COUNTS),
        "run_sinusoidal_positional_encoding(seq_len, d_model)": pick(TABLES),
        "run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions)": "\n".join(
            ["x = in_query_or_key", pick(FREQUENCIES), pick(ANGLES), pick(TURNS)]
        ),
        **_multihead(draw, linear, split, merge),
    }
    order = list(functions)
    if draw.random() < 0.5:
        draw.shuffle(order)
    texts = [f"def {head}:\n{textwrap.indent(functions[head], '    ')}\n" for head in order]
    return {"adapters.py": "\n\n".join([IMPORTS, *texts])}


HELPERS = [
    ("linear", "project", "_proj", "apply_weight"),
    ("split_heads", "to_heads", "_split", "divide"),
    ("merge_heads", "from_heads", "_merge", "join"),
]


def _multihead(draw: random.Random, linear: str, split: str, merge: str) -> dict[str, str]:
    """Returns the three adapters with heads, each in one of a few ways."""
    pick = draw.choice
    mask = pick(
        [
            "mask = run_causal_mask({x}.shape[-2])",
            "n = {x}.size(-2)\nmask = torch.tril(torch.ones(n, n, dtype=torch.bool))",
            "seq = {x}.shape[-2]\nmask = torch.arange(seq)[:, None] >= torch.arange(seq)",
        ]
    )
    three = pick(
        [
            f"q = {split}({linear}({{q}}, q_proj_weight), num_heads)\n"
            f"k = {split}({linear}({{k}}, k_proj_weight), num_heads)\n"
            f"v = {split}({linear}({{v}}, v_proj_weight), num_heads)",
            f"q, k, v = [\n    {split}({linear}(x, W), num_heads)\n    for x, W in (({{q}}, "
            "q_proj_weight), ({k}, k_proj_weight), ({v}, v_proj_weight))\n]",
            f"q = {linear}({{q}}, q_proj_weight)\nk = {linear}({{k}}, k_proj_weight)\n"
            f"v = {linear}({{v}}, v_proj_weight)\n"
            f"q, k, v = {split}(q, num_heads), {split}(k, num_heads), {split}(v, num_heads)",
        ]
    )
    end = pick(
        [
            f"out = run_scaled_dot_product_attention(q, k, v, mask)\n"
            f"return {linear}({merge}(out), o_proj_weight)",
            f"context = {merge}(run_scaled_dot_product_attention(q, k, v, mask))\n"
            f"return {linear}(context, o_proj_weight)",
            f"heads = run_scaled_dot_product_attention(Q=q, K=k, V=v, mask=mask)\n"
            f"heads = {merge}(heads)\nreturn heads @ o_proj_weight.T",
        ]
    )
    positions = pick(
        [
            "if token_positions is None:\n"
            "    token_positions = torch.arange(in_features.shape[-2])",
            "positions = token_positions\nif positions is None:\n"
            "    positions = torch.arange(in_features.size(-2))\ntoken_positions = positions",
            "n = in_features.shape[-2]\n"
            "token_positions = torch.arange(n) if token_positions is None else token_positions",
        ]
    )
    rope = pick(
        [
            "token_positions = token_positions.unsqueeze(-2)\n"
            "q = run_rope(d_model // num_heads, theta, max_seq_len, q, token_positions)\n"
            "k = run_rope(d_model // num_heads, theta, max_seq_len, k, token_positions)",
            "d_head = d_model // num_heads\nq, k = (\n"
            "    run_rope(d_head, theta, max_seq_len, t, token_positions[..., None, :])\n"
            "    for t in (q, k)\n)",
        ]
    )
    own = {"q": "in_features", "k": "in_features", "v": "in_features"}
    crossed = {"q": "query", "k": "key", "v": "value"}
    causal = textwrap.indent(mask.format(x="query"), "    ")
    return {
        f"run_multihead_self_attention(d_model, num_heads, {WEIGHTS}, in_features)": "\n".join(
            [three.format(**own), mask.format(x="in_features"), end]
        ),
        f"run_multihead_attention(d_model, num_heads, {WEIGHTS}, query, key, value, is_causal)": (
            "\n".join([f"mask = None\nif is_causal:\n{causal}", three.format(**crossed), end])
        ),
        "run_multihead_self_attention_with_rope(d_model, num_heads, max_seq_len, theta, "
        f"{WEIGHTS}, in_features, token_positions=None)": "\n".join(
            [positions, three.format(**own), rope, mask.format(x="in_features"), end]
        ),
    }


def by_hand() -> dict[str, dict[str, str]]:
    """Returns the programs that people wrote, by their names: their files, by their paths."""
    found = {style: submission(style) for style in styles()}
    for style in sorted(path for path in RIGHT.iterdir() if path.is_dir()):
        files = sorted(style.rglob("*.py"))
        found[style.name] = {str(f.relative_to(style)): f.read_text("utf-8") for f in files}
    return found


def independent(count: int) -> dict[str, dict[str, str]]:
    """Returns this number of independent programs."""
    programs = dict(list(by_hand().items())[:count])
    for seed in range(count - len(programs)):
        programs[f"student-{seed:04}"] = program(seed)
    return programs


def disguised(files: Mapping[str, str], seed: int) -> dict[str, str]:
    """Returns a copy in two files: renamed, reordered, commented, and with some products as einsum.

    Functions that the grader calls keep their names and parameters.
    """
    draw = random.Random(f"disguise {seed}")
    trees = [ast.parse(text) for path, text in files.items() if path.endswith(".py")]
    local = {Path(path).parts[0].removesuffix(".py") for path in files}
    imports = [node for tree in trees for node in tree.body if _is_import(node)]
    inside = [node for node in imports if _is_local(node, local)]
    rest = [node for tree in trees for node in tree.body if not _is_import(node)]
    whole = ast.Module(body=[n for n in rest if not _is_docstring(n)], type_ignores=[])
    modules = {alias.asname or alias.name for node in inside for alias in node.names}
    whole = ast.fix_missing_locations(_Disguise(whole, modules, draw).visit(whole))
    adapters = [n for n in whole.body if getattr(n, "name", "").startswith("run_")]
    others = [n for n in whole.body if n not in adapters]
    draw.shuffle(adapters)
    half = len(adapters) // 2
    head = "\n".join(dict.fromkeys(ast.unparse(node) for node in imports if node not in inside))
    first = "\n\n\n".join(map(_commented, [*others, *adapters[:half]]))
    second = "\n\n\n".join(map(_commented, adapters[half:]))
    return {
        "parts/core.py": f"{head}\n\n\n{first}\n",
        "adapters.py": f"{head}\n\nfrom parts.core import *\n\n\n{second}\n",
    }


class _Disguise(ast.NodeTransformer):
    """A transformer that renames a program's own names and swaps statements.

    It writes half of the products as einsum.
    """

    def __init__(self, tree: ast.AST, modules: set[str], draw: random.Random) -> None:
        self._draw = draw
        self._modules = modules
        nodes = [*ast.walk(tree)]
        own = {
            name
            for node in nodes
            if isinstance(node, ast.arg | ast.FunctionDef | ast.ClassDef)
            or (isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store))
            if (name := _name_of(node)) is not None
        }
        self._functions = {
            node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)
        }
        fixed = {name for name in own if name.startswith(("run_", "__")) or hasattr(Tensor, name)}
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("run_"):
                fixed |= {arg.arg for arg in node.args.args}
            elif isinstance(node, ast.Call) and _name_of(node.func) not in self._functions:
                fixed |= {keyword.arg for keyword in node.keywords if keyword.arg}
        fixed |= {"forward", "self", "weight", "bias"}
        self._names = {name: f"v_{number}" for number, name in enumerate(sorted(own - fixed))}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.name = self._names.get(node.name, node.name)
        body = [each for each in node.body if not _is_docstring(each)] or [ast.Pass()]
        node.body = _reordered(body, self._draw)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        fields = [each for each in node.body if not isinstance(each, ast.FunctionDef)]
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
        self._draw.shuffle(methods)
        node.body = [*fields, *methods]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        node.arg = self._names.get(node.arg, node.arg)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        node.arg = self._names.get(node.arg, node.arg) if node.arg else None
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self._modules:
            return ast.Name(self._names.get(node.attr, node.attr), node.ctx)
        node.attr = self._names.get(node.attr, node.attr)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult) and self._draw.random() < 0.5:
            pattern = ast.Constant("...ij,...jk->...ik")
            called = ast.Attribute(ast.Name("torch", ast.Load()), "einsum", ast.Load())
            return ast.Call(called, [pattern, node.left, node.right], [])
        return node


def _name_of(node: ast.AST) -> str | None:
    """Returns the name in a node: of a variable, attribute, parameter, function or class."""
    for field in ("id", "attr", "arg", "name"):
        if isinstance(name := getattr(node, field, None), str):
            return name
    return None


def _is_local(node: ast.Import | ast.ImportFrom, local: set[str]) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.partition(".")[0] in local for alias in node.names)
    return bool(node.level) or (node.module or "").partition(".")[0] in local


def _reordered(body: Sequence[ast.stmt], draw: random.Random) -> list[ast.stmt]:
    """Returns a function's statements, with some independent neighbours swapped."""
    result = list(body)
    for place in range(len(result) - 1):
        one, other = result[place], result[place + 1]
        plain = isinstance(one, ast.Assign) and isinstance(other, ast.Assign)
        apart = not _stored(one) & _all(other) and not _stored(other) & _all(one)
        if plain and apart and draw.random() < 0.5:
            result[place], result[place + 1] = other, one
    return result


def _stored(node: ast.AST) -> set[str]:
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _all(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _commented(node: ast.AST) -> str:
    lines = ast.unparse(node).split("\n")
    return "\n".join(["# what comes next was thought about for long", *lines])


def _is_import(node: ast.AST) -> TypeGuard[ast.Import | ast.ImportFrom]:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
