"""Rewrite rules of Python and torch as rows: the written code, and the code that was meant.

A row with a variable in each gap is its own example. A `$x` in the replacement alone is an
ingredient: a variable nearby, of the nature that the row requires.
"""

from __future__ import annotations

import itertools

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP
from grader.explain.rewriting.patterns import Row, both_ways, rows, with_text
from grader.explain.rewriting.positions import Position
from grader.explain.rewriting.program.vocabulary import Nature

_LOWEST = 'float("-inf")'
_MASKED = (f".masked_fill($mask == 0, {_LOWEST})", f".masked_fill($mask != 0, {_LOWEST})")
_SHAPED = ("view", "reshape", "unflatten")
_TURNED = ("transpose", "swapaxes", "permute", "movedim")
_AXES = (".transpose(1, 2)", ".transpose(-3, -2)", ".transpose(-2, -1)")
_TENSOR, _WEIGHT, _MASK = Nature.TENSOR, Nature.WEIGHT, Nature.MASK
_SIZE, _NUMBER = Nature.SIZE, Nature.NUMBER
_VALUE = frozenset({_NUMBER, _SIZE, _TENSOR})
_STORED = (Position.STORED,)
_PASSED = (Position.GIVEN, Position.NAMED)
_TRANSPOSED = "a transposition that is missing"
_FORGOTTEN = "a call that is missing"
_FACTOR = "a factor that is missing"
_TERM = "a term that is missing"
_TRUE = "which part of a mask is True"
_AXIS = "an axis that is missing"
_OFF = "a count that may be off by one"
_OPERAND = (Position.OPERAND,)
_SECOND = (Position.SECOND,)
_FIRST = (Position.FIRST,)
_RENAMED = (Position.RENAMED,)
_RETURNED = (Position.RETURNED,)
_DIVIDED = (Position.DIVIDED,)
_DIVISOR = (Position.DIVISOR,)
_COUNT = (Position.COUNT,)

_SLICES = ("$a:$b", "$a:", ":$b")
_TURNS = (".transpose($*axes)", ".mT", ".T")
_OF_NUMBERS = ("sqrt", "rsqrt", "exp", "log")


def _bounds(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
    """Returns pairs of arguments as pairs of calls that count."""
    names = ("range", "torch.arange")
    return [(f"{of}({old}, $**by)", f"{of}({new}, $**by)") for of in names for old, new in pairs]


_SHIFTED = ("0, $n", "1, $n + 1", "2, $n + 2")

ROWS: tuple[Row, ...] = (
    *rows(
        "a sign that is missing",
        SLIP,
        ("torch.exp($x)", "torch.exp(-$x)"),
        ("$x.exp()", "(-$x).exp()"),
        ("torch.pow($a, $x)", "torch.pow($a, -$x)"),
        ("torch.where($m, $a, $b)", "torch.where($m, -$a, $b)"),
        ("torch.where($m, $a, $b)", "torch.where($m, $a, -$b)"),
    ),
    *rows(
        "a sign that is missing",
        CHANGE,
        ("$x", "-$x"),
        at=(Position.STORED, Position.ENTRY),
        x=_TENSOR,
    ),
    *rows("a sign that is missing", SLIP, ("$a ** $x", "$a ** -$x")),
    *rows("a sign that is missing", CHANGE, ("$x", "-$x"), at=_OPERAND, x=_VALUE),
    *rows(
        "a factor or a term",
        WRAP,
        *(("$x", "2 * $x"), ("$x", "3 * $x"), ("$x", "1 - $x")),
        *with_text("$x", " / 2", " + 1", " - 1"),
        at=_OPERAND,
        x=_VALUE,
    ),
    *rows("a power or a root", WRAP, *with_text("$x", " ** 0.5"), at=_OPERAND, x=_VALUE),
    *rows("a factor or a term", CHANGE, ("$p", "1 - $p"), at=(*_OPERAND, *_STORED), p=_NUMBER),
    *rows("a factor or a term", CHANGE + 0.35, ("$p", "1 - $p"), at=_PASSED, p=_NUMBER),
    *rows("a factor or a term", SLIP + 0.25, ("$p", "1 / $p"), at=(*_STORED, *_PASSED), p=_NUMBER),
    *rows("a factor or a term", WRAP, ("$n", "3 * $n"), at=_STORED, n=_SIZE),
    *rows("a factor or a term", WRAP, ("$x", "2 * $x"), ("$x", "$x / 2"), at=_STORED, x=_TENSOR),
    *rows(_FACTOR, CHANGE, ("$x", "$x / (1 - $p)"), at=_STORED, x=_TENSOR, p=_NUMBER),
    *rows(
        _FACTOR,
        WRAP,
        *with_text("$x", " / $p", " * $p", " * (1 - $p)"),
        at=_STORED,
        x=_TENSOR,
        p=_NUMBER,
    ),
    *rows("a root that is missing", SLIP, ("$d", "$d ** 0.5"), at=_DIVISOR, d=_SIZE),
    *rows(
        "a root that is missing",
        CHANGE,
        ("$d", "$d ** 0.5"),
        at=(Position.STORED, Position.HANDED_ON),
        d=_SIZE,
    ),
    *rows(_TERM, CHANGE, ("$d", "$d - $n"), at=_DIVISOR, d=_NUMBER, n=_NUMBER),
    *rows(_TERM, CHANGE, ("$d", "$d - $n"), at=_DIVISOR, d=_SIZE, n=_SIZE),
    *rows("a factor", SLIP, ("$x", "2 * $x"), ("-$x / $d", "-2 * $x / $d"), at=_DIVIDED),
    *rows("a factor", CHANGE, ("$x", "$x / 2"), ("$x", "-$x"), at=_DIVIDED),
    *rows(_OFF, SLIP, *with_text("$n", " + 1", " - 1"), at=(Position.BOUND,), n=_SIZE),
    *rows(_OFF, CHANGE, *with_text("$n", " + 1", " - 1"), at=_COUNT, n=_SIZE),
    *rows(
        _TERM,
        SLIP,
        ("torch.exp($x)", "torch.exp($x - $x.amax(dim=-1, keepdim=True))"),
        ("torch.exp($x)", "torch.exp($x - $x.amax($dim, keepdim=True))"),
        ("torch.exp($x)", "torch.exp($x - $of)"),
        ("$x.exp()", "($x - $of).exp()"),
        ("$x.exp()", "($x - $x.amax(dim=-1, keepdim=True)).exp()"),
        ("$x.exp()", "($x - $x.amax($dim, keepdim=True)).exp()"),
        of=_TENSOR,
        dim=("dim", "axis", "self.dim", "self.axis"),
    ),
    *rows(
        "whether the values are divided by their sum",
        CHANGE,
        ("torch.exp($x)", "torch.softmax($x, -1)"),
        ("$x.exp()", "$x.softmax(-1)"),
    ),
    *rows(
        "an operator",
        SLIP,
        ("$x += $y", "$x -= $y"),
        ("$x -= $y", "$x += $y"),
        ("$x *= $y", "$x /= $y"),
        ("$x /= $y", "$x *= $y"),
    ),
    # --- Masks ---
    *rows(
        "how a mask is applied",
        CHANGE,
        *((f"$x {operator} $mask", f"$x{masked}") for operator in "+*-" for masked in _MASKED),
        *(("$x += $mask", f"$x = $x{masked}") for masked in _MASKED),
        *(("$x *= $mask", f"$x = $x{masked}") for masked in _MASKED),
        mask=_MASK,
    ),
    *rows(
        _TRUE,
        SLIP + 0.1,  # dropping a superfluous negation is a little likelier
        ("$mask", "~$mask"),
        at=(Position.STORED, Position.OPERAND, *_PASSED),
        mask=_MASK,
    ),
    *rows(
        _TRUE,
        WRAP,
        *with_text("$mask", ".tril()", ".triu()"),
        at=(Position.STORED, Position.GIVEN),
        mask=_MASK,
    ),
    *rows(
        _TRUE,
        CHANGE,
        *(
            pair
            for made in ("ones", "ones_like", "zeros", "full")
            for pair in with_text(f"torch.{made}($*given)", ".tril()", ".triu()", ".triu(1)")
        ),
    ),
    *rows(
        "the fill value of a mask",
        CHANGE,
        *(
            (f"$x.{name}($mask, $value)", f"$x.{name}($mask, {value})")
            for name in ("masked_fill", "masked_fill_")
            for value in (_LOWEST, "0.0", "-1e9")
        ),
    ),
    # --- Missing calls, axes and transpositions ---
    *rows(_FORGOTTEN, CHANGE, ("$x", "$x.exp()"), at=_STORED, x=_TENSOR),
    *rows(_FORGOTTEN, WRAP, *with_text("$x", ".sqrt()", ".softmax(-1)"), at=_STORED, x=_TENSOR),
    *rows(_FORGOTTEN, WRAP, ("$x", "$x.to($of.dtype)"), at=_RETURNED, x=_TENSOR, of=_TENSOR),
    *rows(
        _FORGOTTEN,
        CHANGE,
        *(pair for turn in _TURNED for pair in with_text(f"$x.{turn}($*axes)", ".flatten(-2)")),
        *with_text("$x.mT", ".flatten(-2)"),
        *with_text("torch.stack($*given)", ".flatten(-2)"),
        at=_STORED,
    ),
    *rows(_FORGOTTEN, WRAP, ("$name", "torch.softmax($name, dim=-1)"), at=_FIRST, name=_TENSOR),
    *rows(_FORGOTTEN, CHANGE, ("$x", "$x.flatten(-2)"), at=_RENAMED),
    *rows(
        _AXIS,
        WRAP,
        *with_text("$name", *(f".unsqueeze({axis})" for axis in (-1, -2, -3))),
        at=(*_STORED, *_OPERAND, *_PASSED),
        name=frozenset({_TENSOR, _MASK}),
    ),
    *rows(_AXIS, CHANGE, *with_text("torch.arange($*given)", ".unsqueeze(-1)"), at=_STORED),
    *rows(
        "the order of features",
        WRAP,
        ("$name", "$name.flip(-1)"),
        at=(Position.OPERAND,),
        name=_TENSOR,
    ),
    *rows(_TRANSPOSED, SLIP, ("$x", "$x.mT"), at=_SECOND, x=Nature.OTHER),
    *rows(_TRANSPOSED, SLIP, ("$x", "$x.mT"), at=_SECOND, x=_TENSOR),
    *rows(_TRANSPOSED, SLIP, ("$w", "$w.T"), at=_SECOND, w=_WEIGHT),
    *rows(_TRANSPOSED, SLIP + 0.25, ("$name", "$name.T"), at=_STORED, name=_WEIGHT),
    *rows(_TRANSPOSED, WRAP, ("$name", "$name.T"), at=(*_PASSED, Position.ENTRY), name=_WEIGHT),
    *rows(
        _TRANSPOSED,
        CHANGE,
        *(pair for name in _SHAPED for pair in with_text(f"$x.{name}($*sizes)", *_AXES)),
        *with_text("rearrange($*given)", *_AXES),
        *(
            (f"$x.{name}($*sizes)", f"$x{turn}.{name}($*sizes)")
            for name in ("contiguous", "reshape", "unflatten", "flatten")
            for turn in _AXES
        ),
        *(("$x.view($*sizes)", f"$x{turn}.contiguous().view($*sizes)") for turn in _AXES),
    ),
    *rows(_TRANSPOSED, WRAP, *with_text("$x", *_AXES), at=_STORED, x=_TENSOR),
    *rows(
        "where a range begins and ends",
        SLIP,
        *_bounds(
            *(("$n // 2", "0, $n, 2"), ("0, $n // 2", "0, $n, 2")),
            *(pair for near in itertools.pairwise(_SHIFTED) for pair in both_ways(near)),
        ),
    ),
    *rows(
        "where a range begins and ends",
        CHANGE,
        *_bounds(
            *(("$n // 2", "$n"), ("$a, $n // 2", "$a, $n"), ("$a, $n, $step", "$a, $n")),
            *(("$n + 1", "0, $n, 2"), ("$n - 1", "0, $n, 2"), ("$a, $n, 2", "$a, $n // 2")),
        ),
    ),
    *rows(
        "where a range begins and ends",
        WRAP,
        *_bounds(
            *(("$n", "0, $n, 2"), ("$n", "1, $n"), ("$a, $n", "$a, $n, 2"), ("$a, $n", "$n, $a"))
        ),
    ),
    *rows(
        "which part of a tensor is taken",
        SLIP,
        ("($x[..., :$n], $x[..., $n:])", "($x[..., 0::2], $x[..., 1::2])"),
        ("[:$b]", "[$b:]"),
        ("[$a:]", "[:$a]"),
        ("[::2]", "[1::2]"),
        ("[0::2]", "[1::2]"),
        ("[1::2]", "[0::2]"),
    ),
    *rows(
        "which part of a tensor is taken",
        CHANGE,
        *(("[:$b]", other) for other in ("[-$b:]", "[0::2]", "[::$b]")),
        *(("[$a:]", other) for other in ("[:-$a]", "[1::2]")),
        *(("[$a:$b]", other) for other in ("[:$b]", "[$a:]")),
    ),
    *rows(
        "a transposition that may not belong there",
        SLIP,
        *((f"$x.{turn}", "$x") for turn in ("T", "mT", "mH", "H")),
    ),
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
        "whether rows or columns are taken",
        SLIP,
        ("$w.chunk($*given)", "$w.T.chunk($*given)"),
        *((f"$w[{part}]", f"$w[:, {part}].T") for part in _SLICES),
        *((f"$w[{part}, :]", f"$w[:, {part}].T") for part in _SLICES),
        *((f"$w[:, {part}]", f"$w[{part}].T") for part in _SLICES),
        w=Nature.WEIGHT,
    ),
)
