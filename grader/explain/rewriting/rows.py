"""Rewrite rules of Python and torch as rows: the written code, and the code that was meant.

A row with a variable in each gap is its own example. A `$x` in the replacement alone is an
ingredient: a variable nearby, of the nature that the row requires.
"""

from __future__ import annotations

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP
from grader.explain.rewriting.missing.rows import MISSING
from grader.explain.rewriting.patterns import Row, both_ways, rows
from grader.explain.rewriting.program.vocabulary import Nature

_SLICES = ("$a:$b", "$a:", ":$b")
_TURNS = (".transpose($*axes)", ".mT", ".T")
_COPY = '__import__("copy").deepcopy'
_OF_NUMBERS = ("sqrt", "rsqrt", "exp", "log")

ROWS: tuple[Row, ...] = (
    *MISSING,
    *rows(
        "what an exponent applies to",
        SLIP,
        ("$x ** $a / $b", "$x ** ($a / $b)"),
        ("$x ** $a * $c / $b", "$x ** ($a * $c / $b)"),
        ("$y / $x ** $a / $b", "$y / $x ** ($a / $b)"),
        ("$y / $x ** $a * $b", "$y / $x ** ($a * $b)"),
    ),
    *rows(
        "which of two factors is transposed",
        SLIP,
        *((f"$a @ $b{turn}", f"$b @ $a{turn}") for turn in _TURNS),
        *((f"$a{turn} @ $b", f"$a @ $b{turn}") for turn in _TURNS),
    ),
    *rows(
        "what passes no gradient",
        CHANGE,
        ("$x.data", "$x"),
        ("torch.no_grad()", "torch.enable_grad()"),
        ("torch.inference_mode()", "torch.enable_grad()"),
    ),
    *rows("what a sign applies to", CHANGE, ("-($x ** $a)", "$x ** -$a")),
    *rows(
        "which part of a module is read",
        CHANGE,
        # The entries of a state_dict need no gradient, which would hide a change in place.
        (
            "$m.named_parameters()",
            "[*$m.named_parameters(remove_duplicate=False), *$m.named_buffers()]",
        ),
    ),
    *rows(
        "which term has the minus sign",
        SLIP,
        ("($a, -$b)", "(-$a, $b)"),
        ("(-$a, $b)", "($a, -$b)"),
        ("[$a, -$b]", "[-$a, $b]"),
        ("[-$a, $b]", "[$a, -$b]"),
    ),
    *rows(
        "what a condition applies to",
        CHANGE,
        *(
            (f"$a {sign} $b if $c else $d", f"$a {sign} ($b if $c else $d)")
            for sign in ("+", "-", "*", "/")
        ),
    ),
    *rows(
        "which operand belongs inside a call",
        CHANGE,
        *(
            pair
            for sign in ("+", "-", "*", "/")
            for pair in (
                (f"$function($x {sign} $y)", f"$function($x) {sign} $y"),
                (f"$function($x {sign} $y)", f"$x {sign} $function($y)"),
                (f"$function($x) {sign} $y", f"$function($x {sign} $y)"),
            )
        ),
        *both_ways(*((f"$x.{name}() + $y", f"($x + $y).{name}()") for name in _OF_NUMBERS)),
    ),
    *rows(
        "what is summed",
        CHANGE,
        *both_ways(("sum($function($x) for $i in $n)", "$function(sum($x for $i in $n))")),
    ),
    *rows(
        "what is added to an index, and what to an element",
        CHANGE,
        *both_ways(*((f"$x[$i] {sign} $y", f"$x[$i {sign} $y]") for sign in "+-")),
    ),
    *rows(
        "what belongs inside the call of `softmax`",
        CHANGE,
        *(
            (f"{module}softmax($x, $*axis) {sign} $y", f"{module}softmax($x {sign} $y, $*axis)")
            for module in ("torch.", "F.", "self.", "")
            for sign in ("+", "-", "*", "/")
        ),
    ),
    *rows(
        "whether parentheses are missing",
        SLIP,
        *(
            (f"$a {compared} $b {joined} $c", f"($a {compared} $b) {joined} $c")
            for compared in ("<", "<=", ">", ">=", "==")
            for joined in "&|"
        ),
    ),
    *rows(
        "a comparison",
        SLIP,
        ("$x is True", "$x is not None"),
        ("$x == True", "$x is not None"),
        ("$x is False", "$x is None"),
    ),
    *rows("a comparison", CHANGE, ("$x is True", "$x"), ("$x is False", "not $x")),
    *rows(
        "whether all elements of a list are one object",
        SLIP,
        ("[$x for $i in $n]", f"[{_COPY}($x) for $i in $n]"),
        ("[$made] * $n", "[$made for _ in range($n)]"),
    ),
    *rows(
        "the order of what is repeated",
        CHANGE,
        ("$x.repeat($n, 1)", "$x.repeat_interleave($n, dim=0)"),
        ("$x.repeat($n, 1, 1)", "$x.repeat_interleave($n, dim=0)"),
        ("$x.repeat_interleave($n, dim=0)", "$x.repeat($n, 1)"),
        ("$x.repeat_interleave($n, dim=0)", "$x.repeat($n, 1, 1)"),
    ),
    *rows(
        "whether a list or a tuple is added",
        SLIP,
        *both_ways(
            ("$x + ($a,)", "$x + [$a]"),
            ("$x + ($a, $b)", "$x + [$a, $b]"),
            ("$x + ($a, $b, $c)", "$x + [$a, $b, $c]"),
        ),
    ),
    *rows(
        "what is counted",
        CHANGE,
        ("sum($shape)", "math.prod($shape)"),
        ("len(list($x))", "sum(one.numel() for one in $x)"),
        *(
            (f"sum({size} for $p in $x)", "sum($p.numel() for $p in $x)")
            for size in ("len($p)", "$p.shape[$axis]", "$p.size($axis)", "$p.dim()")
        ),
    ),
    *rows(
        "how parts are joined",
        CHANGE,
        ("sum($parts)", "torch.cat($parts, dim=-1)"),
        ("torch.stack($parts, $*axis).sum($*axes)", "torch.cat($parts, dim=-1)"),
        ("torch.stack($parts, $*axis).mean($*axes)", "torch.cat($parts, dim=-1)"),
    ),
    *rows(
        "how an axis is split",
        CHANGE,
        ("$x.unflatten(-1, ($a, $b))", "$x.unflatten(-1, ($b, $a)).transpose(-2, -1)"),
    ),
    *rows(
        "how an axis is split",
        CHANGE,
        *(
            (f"$x.{split}{turn}", f"$x.{turned}")
            for turn in _TURNS
            for split, turned in (
                ("unflatten($axis, ($a, $b))", "unflatten($axis, ($b, $a))"),
                ("unflatten($axis, ($a, $b, $c))", "unflatten($axis, ($b, $a, $c))"),
                ("view(*$lead, $a, $b)", "view(*$lead, $b, $a)"),
                ("reshape(*$lead, $a, $b)", "reshape(*$lead, $b, $a)"),
            )
        ),
    ),
    *rows(
        "which axes are merged", CHANGE, ("$x.reshape(1, -1, $n)", "$x.reshape(-1, *$x.shape[-2:])")
    ),
    *rows(
        "whether rows or columns are taken",
        SLIP,
        ("$w.chunk($*given)", "$w.T.chunk($*given)"),
        *((f"$w[{part}]", f"$w[:, {part}].T") for part in _SLICES),
        *((f"$w[{part}, :]", f"$w[:, {part}].T") for part in _SLICES),
        *((f"$w[:, {part}]", f"$w[{part}].T") for part in _SLICES),
        w=Nature.WEIGHT,
    ),
    *rows("where `vmap` puts its axis", WRAP, ("vmap($*given)", "vmap($*given, out_dims=-2)")),
)
