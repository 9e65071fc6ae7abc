"""Functions of torch and of Python of which one is easily called for another."""

from __future__ import annotations

# Functions of which one is easily called for another: those of one group.
_SIBLINGS = (
    ("sin", "cos"),
    ("sinh", "tanh", "sigmoid"),
    ("tril", "triu"),
    ("softmax", "log_softmax"),
    ("sqrt", "rsqrt", "square"),
    ("mean", "sum"),
    ("sum", "amax"),
    ("sum", "logsumexp"),
    ("max", "min"),
    ("amax", "amin"),
    ("var", "std"),
    ("floor", "ceil"),
    ("cat", "stack"),
    ("concat", "stack"),
    ("repeat", "repeat_interleave"),
    ("repeat", "tile"),
    ("zeros", "ones"),
    ("zeros", "arange"),
    ("ones", "arange"),
    ("sqrt", "log"),
    ("zeros_like", "ones_like"),
    ("empty_like", "zeros_like"),
    ("rand", "randn"),
    ("rand_like", "randn_like"),
    ("matmul", "mul"),
    ("bmm", "mul"),
    ("add", "sub"),
    ("mul", "div"),
    ("exp", "log"),
    ("exp2", "exp"),
    ("log", "log2", "log10"),
    ("relu", "gelu", "silu"),
    ("logical_and", "logical_or"),
    ("argmax", "argmin"),
    ("lt", "le"),
    ("gt", "ge"),
    ("eq", "ne"),
    ("range", "len"),
    ("isnan", "isinf"),
    ("transpose", "reshape"),
    ("expand", "repeat"),
    ("view", "transpose"),
    ("view", "reshape"),
    ("float", "double", "half", "bfloat16", "long"),
    ("neg", "abs", "reciprocal"),
    ("add_", "copy_"),
    ("normal_", "uniform_"),
    ("mul_", "copy_"),
    ("add_", "sub_"),
    ("mul", "add", "sub", "div"),
    ("squeeze", "unsqueeze"),
    ("chunk", "split"),
    ("outer", "mul"),
    ("sum", "prod", "cumsum"),
    ("all", "any"),
    ("ge", "lt"),
    ("gt", "le"),
    ("lt", "gt"),
    ("le", "ge"),
    ("minimum", "maximum"),
    ("less", "less_equal"),
    ("greater", "greater_equal"),
    ("less", "greater"),
    ("less_equal", "greater_equal"),
    ("less", "greater_equal"),
    ("greater", "less_equal"),
    ("equal", "not_equal"),
    ("multiply", "divide"),
    ("add", "subtract", "multiply", "divide"),
    ("matmul", "multiply"),
    ("concatenate", "stack"),
    ("row_stack", "column_stack"),
    ("hstack", "vstack", "dstack"),
    ("fliplr", "flipud"),
    ("arcsin", "arccos"),
    ("append", "extend"),
)
_OTHERS: dict[str, tuple[str, ...]] = {}
for _group in _SIBLINGS:
    for _name in _group:
        known = _OTHERS.get(_name, ())
        _OTHERS[_name] = (*known, *(o for o in _group if o != _name and o not in known))


def siblings(name: str) -> tuple[str, ...]:
    """The functions easily called for another; for one that works in place, those that do."""
    bare = name.removesuffix("_")
    if bare == name:
        return _OTHERS.get(name, ())
    in_place = (f"{one}_" for one in _OTHERS.get(bare, ()))
    return (bare, *_OTHERS.get(name, ()), *in_place)
