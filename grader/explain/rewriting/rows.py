"""Rewrite rules of Python and torch as rows: what is written, what was meant."""

from __future__ import annotations

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP
from grader.explain.rewriting.patterns import Row
from grader.explain.rewriting.program.value_kinds import Nature

_HALVES = "how two halves of the features are put together"
_WHICH_HALF = "which half of the features is which"
_TWICE = "how features are repeated"
_EXPONENT = "how far an exponent reaches"
_GROUPS = "what belongs together in an expression"
_ONE_OBJECT = "that there is only one of what stands in a list"
_TRUTH = "a comparison"
_COUNTED = "what is counted"
_PARTS = "how parts are put together"
_SPLIT = "how an axis is split"
_COPY = '__import__("copy").deepcopy'

ROWS: tuple[Row, ...] = (
    Row(
        "torch.cat($*given)",
        "torch.stack($*given).flatten(-2)",
        CHANGE,
        _HALVES,
        ("torch.cat((a, b), dim=-1)", "torch.stack((a, b), dim=-1).flatten(-2)"),
    ),
    Row(
        "torch.cat($parts)",
        "torch.stack($parts, dim=-1).flatten(-2)",
        CHANGE,
        _HALVES,
        ("torch.cat((a, b))", "torch.stack((a, b), dim=-1).flatten(-2)"),
    ),
    Row(
        "torch.concat($*given)",
        "torch.stack($*given).flatten(-2)",
        CHANGE,
        _HALVES,
        ("torch.concat([a, b], -1)", "torch.stack([a, b], -1).flatten(-2)"),
    ),
    Row(
        "torch.stack($*given).flatten($*axes)",
        "torch.cat($*given)",
        WRAP,
        _HALVES,
        ("torch.stack((a, b), -1).flatten(-2)", "torch.cat((a, b), -1)"),
    ),
    Row(
        "$x.chunk($*given)",
        "($x[..., 0::2], $x[..., 1::2])",
        CHANGE,
        _WHICH_HALF,
        ("x.chunk(2, dim=-1)", "(x[..., 0::2], x[..., 1::2])"),
    ),
    Row(
        "$k < $n // 2",
        "$k % 2 == 0",
        WRAP,
        _WHICH_HALF,
        ("columns < width // 2", "columns % 2 == 0"),
    ),
    Row(
        "$k >= $n // 2",
        "$k % 2 == 1",
        WRAP,
        _WHICH_HALF,
        ("columns >= width // 2", "columns % 2 == 1"),
    ),
    Row(
        "torch.cat(($x, $x), $*axis)",
        "$x.repeat_interleave(2, dim=-1)",
        CHANGE,
        _TWICE,
        ("torch.cat((x, x), dim=-1)", "x.repeat_interleave(2, dim=-1)"),
    ),
    Row(
        "torch.cat([$x, $x], $*axis)",
        "$x.repeat_interleave(2, dim=-1)",
        CHANGE,
        _TWICE,
        ("torch.cat([x, x], -1)", "x.repeat_interleave(2, dim=-1)"),
    ),
    Row(
        "torch.cat([$x] * 2, $*axis)",
        "$x.repeat_interleave(2, dim=-1)",
        CHANGE,
        _TWICE,
        ("torch.cat([x] * 2, dim=-1)", "x.repeat_interleave(2, dim=-1)"),
    ),
    *(
        Row(
            f"$x.{name}($*given)",
            after,
            CHANGE,
            _TWICE,
            (f"x.{name}(1, 2)", after.replace("$", "")),
        )
        for name in ("repeat", "tile", "repeat_interleave")
        for after in ("$x.repeat_interleave(2, dim=-1)", "torch.cat(($x, $x), dim=-1)")
    ),
    Row(
        "$x ** $a / $b",
        "$x ** ($a / $b)",
        SLIP,
        _EXPONENT,
        ("theta ** 2 * i / width", "theta ** (2 * i / width)"),
    ),
    Row(
        "$x ** $a * $c / $b",
        "$x ** ($a * $c / $b)",
        SLIP,
        _EXPONENT,
        ("theta ** 2 * i / width", "theta ** (2 * i / width)"),
    ),
    Row(
        "$y / $x ** $a / $b",
        "$y / $x ** ($a / $b)",
        SLIP,
        _EXPONENT,
        ("1 / theta ** i / width", "1 / theta ** (i / width)"),
    ),
    Row(
        "$y / $x ** $a * $b",
        "$y / $x ** ($a * $b)",
        SLIP,
        _EXPONENT,
        ("1 / theta ** i * step", "1 / theta ** (i * step)"),
    ),
    Row(
        "-($x ** $a)",
        "$x ** -$a",
        CHANGE,
        "what a sign belongs to",
        ("-(theta ** (i / width))", "theta ** -(i / width)"),
    ),
    *(
        Row(
            f"$a {compared} $b {joined} $c",
            f"($a {compared} $b) {joined} $c",
            SLIP,
            _GROUPS,
            (f"i {compared} j {joined} k", f"(i {compared} j) {joined} k"),
        )
        for compared in ("<", "<=", ">", ">=", "==")
        for joined in "&|"
    ),
    Row("$x is True", "$x is not None", SLIP, _TRUTH, ("mask is True", "mask is not None")),
    Row("$x is True", "$x", CHANGE, _TRUTH, ("flag is True", "flag")),
    Row("$x == True", "$x is not None", SLIP, _TRUTH, ("mask == True", "mask is not None")),
    Row("$x is False", "$x is None", SLIP, _TRUTH, ("mask is False", "mask is None")),
    Row("$x is False", "not $x", CHANGE, _TRUTH, ("flag is False", "not flag")),
    Row(
        "[$x for $i in $n]",
        f"[{_COPY}($x) for $i in $n]",
        SLIP,
        _ONE_OBJECT,
        ("[layer for _ in range(n)]", f"[{_COPY}(layer) for _ in range(n)]"),
    ),
    Row(
        "[$made] * $n",
        "[$made for _ in range($n)]",
        SLIP,
        _ONE_OBJECT,
        ("[Layer(d)] * n", "[Layer(d) for _ in range(n)]"),
    ),
    Row(
        "[$x[$i]] * $n",
        "$x",
        CHANGE,
        "what is repeated",
        ("[weights[0]] * n", "weights"),
    ),
    Row("sum($shape)", "math.prod($shape)", CHANGE, _COUNTED, ("sum(shape)", "math.prod(shape)")),
    Row(
        "len(list($x))",
        "sum(one.numel() for one in $x)",
        CHANGE,
        _COUNTED,
        ("len(list(weights))", "sum(one.numel() for one in weights)"),
    ),
    Row(
        "sum($parts)",
        "torch.cat($parts, dim=-1)",
        CHANGE,
        _PARTS,
        ("sum(heads)", "torch.cat(heads, dim=-1)"),
    ),
    Row(
        "torch.stack($parts, $*axis).sum($*axes)",
        "torch.cat($parts, dim=-1)",
        CHANGE,
        _PARTS,
        ("torch.stack(heads).sum(0)", "torch.cat(heads, dim=-1)"),
    ),
    Row(
        "torch.stack($parts, $*axis).mean($*axes)",
        "torch.cat($parts, dim=-1)",
        CHANGE,
        _PARTS,
        ("torch.stack(heads).mean(0)", "torch.cat(heads, dim=-1)"),
    ),
    Row(
        "$x.unflatten(-1, ($a, $b))",
        "$x.unflatten(-1, ($b, $a)).transpose(-2, -1)",
        CHANGE,
        _SPLIT,
        ("x.unflatten(-1, (-1, 3))", "x.unflatten(-1, (3, -1)).transpose(-2, -1)"),
    ),
    Row(
        "$x.reshape(1, -1, $n)",
        "$x.reshape(-1, *$x.shape[-2:])",
        CHANGE,
        "which axes are put together",
        ("x.reshape(1, -1, d)", "x.reshape(-1, *x.shape[-2:])"),
    ),
    Row(
        "$w.chunk($*given)",
        "$w.T.chunk($*given)",
        SLIP,
        "whether rows or columns are taken",
        ("weight.chunk(n, dim=1)", "weight.T.chunk(n, dim=1)"),
        {"w": Nature.WEIGHT},
    ),
    Row(
        "$x / $x.sum(dim=$d, keepdim=True)",
        "torch.softmax($x, dim=$d)",
        CHANGE,
        "how weights come from scores",
        ("s / s.sum(dim=-1, keepdim=True)", "torch.softmax(s, dim=-1)"),
    ),
    Row(
        "vmap($*given)",
        "vmap($*given, out_dims=-2)",
        CHANGE,
        "where `vmap` puts its axis",
        ("vmap(turn)", "vmap(turn, out_dims=-2)"),
    ),
)
