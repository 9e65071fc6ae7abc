"""Rewrite rules of Python and torch as rows: the written code, and the code that was meant.

A row with a variable in each gap is its own example. A `$x` in the replacement alone is an
ingredient: a variable nearby, of the nature that the row requires.
"""

from __future__ import annotations

import itertools

from grader.explain.rewriting.edit import CHANGE, SLIP, WRAP
from grader.explain.rewriting.missing.rows import MISSING
from grader.explain.rewriting.patterns import Row, both_ways, rows
from grader.explain.rewriting.program.vocabulary import Nature

_SLICES = ("$a:$b", "$a:", ":$b")
_TURNS = (".transpose($*axes)", ".mT", ".T")
_OF_NUMBERS = ("sqrt", "rsqrt", "exp", "log")


def _bounds(*pairs: tuple[str, str]) -> list[tuple[str, str]]:
    """Returns pairs of arguments as pairs of calls that count."""
    names = ("range", "torch.arange")
    return [(f"{of}({old}, $**by)", f"{of}({new}, $**by)") for of in names for old, new in pairs]


_SHIFTED = ("0, $n", "1, $n + 1", "2, $n + 2")

ROWS: tuple[Row, ...] = (
    *MISSING,
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
            *(("$n", "0, $n, 2"), ("$n", "1, $n"), ("$a, $n", "$a, $n, 2"), ("$a, $n", "$n, $a")),
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
