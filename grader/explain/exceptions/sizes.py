"""Kinds of exceptions of sizes: matrix products, broadcasting, reshaping, axes, indices."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from grader.core.text import ordinal
from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind, shape_of, source_of
from grader.explain.exceptions.operation import Operation

_ANY_NUMBER = "counted from the end (-1, -2), axes are the same with any number of leading ones"
_OPERANDS = r"operand (\d)"
_REDUCTIONS = ("sum", "mean", "amax", "amin", "logsumexp", "max", "min")
_LAST_TWO = 2


def _product(match: re.Match[str], raised: Raised) -> str:
    _, inner, other, _ = match.groups()
    operation = Operation.of(raised)
    if operation.called is not None and operation.called.words.startswith("Linear("):
        return f"The layer takes vectors of {other} features, and these have {inner}."
    if operation.name == "linear":
        return (
            f"linear sums over the last axis of the tensor ({inner} long) and of the weight "
            f"({other} long). They must be equally long."
        )
    return _lengths(operation, inner, other)


def _batched_product(match: re.Match[str], raised: Raised) -> str:
    batch, inner, other_batch, other = match.groups()
    operation = Operation.of(raised)
    if batch != other_batch:
        return (
            f"The leading axes of the two do not agree: they hold {batch} and {other_batch}."
            f"{_advice(operation)}"
        )
    return _lengths(operation, inner, other)


def _lengths(operation: Operation, inner: str, other: str) -> str:
    """Returns the two axes of a matrix product that differ, and advice on how to make them equal.

    Torch swaps the factors of some products, so its message may name the right tensor first.
    """
    shapes = operation.shapes() if operation.is_product else None
    if shapes is None or len(shapes[0]) < 1 or len(shapes[1]) < 2:
        return (
            "A matrix product sums over the last axis of the left tensor and the second to last of "
            "the right one. They must be equally long, and here one is "
            f"{inner} long, the other {other}.{_advice(operation)}"
        )
    left, right = shapes
    said = (
        f"A matrix product sums over the last axis of the left tensor ({left[-1]} long) and the "
        f"second to last of the right one ({right[-2]} long). They must be equally long"
    )
    advice = _advice(operation)
    if left[-1] == right[-1] and not advice:
        name = ast.unparse(operation.operands[1])
        return f"{said}, as they are in {name}.transpose(-2, -1)."
    return f"{said}.{advice}"


def _broadcast(match: re.Match[str], raised: Raised) -> str:
    one, other, axis = match.groups()
    operation = Operation.of(raised)
    shapes = operation.shapes()
    here = f"Here two axes that meet are {one} and {other} long."
    if shapes is not None:
        from_the_end = int(axis) - max(map(len, shapes))
        here = f"Here axis {from_the_end} is {one} in one tensor and {other} in the other."
    return (
        "Shapes are aligned from the right; two axes match if they are equally long, or one of "
        f"them is 1 long. {here}"
        f"{_elementwise(operation) or _advice(operation)}"
    )


def _elementwise(operation: Operation) -> str:
    """Returns advice to use @ if a matrix product fits the operands of *."""
    left, right = operation.shapes() or ([], [])
    if operation.name == "*" and len(left) > 1 < len(right) and left[-1] == right[-2]:
        return " If a matrix product is meant, write @: * multiplies value by value."
    return ""


def _advice(operation: Operation) -> str:
    """Returns advice on unequal shapes, from the code of the operation's operands."""
    for place, node in enumerate(operation.operands):
        whole = node.value if isinstance(node, ast.Attribute) and node.attr == "T" else None
        if whole is not None and len(operation.shape(whole) or ()) > _LAST_TWO:
            name = ast.unparse(whole)
            return (
                f" .T reverses all axes of a tensor; {name}.transpose(-2, -1), or {name}.mT, swaps "
                "only the last two."
            )
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and _would_fit(operation, place, part):
                return f" {ast.unparse(part)} drops its axis, unless you pass keepdim=True."
    return ""


def _would_fit(operation: Operation, place: int, call: ast.Call) -> bool:
    """Returns whether a call is a reduction that drops an axis with which the shapes would fit.

    Functions around the reduced tensor mostly keep its shape.
    """
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=own, keywords=keywords) if (
            name in _REDUCTIONS and ast.unparse(owner) != "self"
        ):
            whole, *own = own if ast.unparse(owner) == "torch" and own else (owner, *own)
        case _:
            return False
    named = {keyword.arg: keyword.value for keyword in keywords}
    axis = named.get("dim") or named.get("axis") or (own[0] if own else None)
    if axis is None or "keepdim" in named or len(own) > 1 or operation.shape(axis) is not None:
        return False
    other = _shape_within(operation, operation.operands[1 - place])
    before = _shape_within(operation, whole)
    if len(operation.operands) != _LAST_TWO or other is None or before is None:
        return False
    number = _number(axis)
    kept = [[*before[:at], 1, *before[at + 1 :]] for at in range(len(before))]
    return any(
        _fit((one, other)[place], (other, one)[place], operation.is_product)
        for one in (kept if number is None else kept[number:][:1])
    )


def _shape_within(operation: Operation, node: ast.expr) -> list[int] | None:
    shapes = (operation.shape(one) for one in ast.walk(node) if isinstance(one, ast.expr))
    return next((shape for shape in shapes if shape is not None), None)


def _fit(left: Sequence[int], right: Sequence[int], is_product: bool) -> bool:
    if is_product:
        if min(len(left), len(right)) < _LAST_TWO or left[-1] != right[-2]:
            return False
        left, right = left[:-2], right[:-2]
    pairs = zip(left[::-1], right[::-1], strict=False)
    return all(one == other or 1 in (one, other) for one, other in pairs)


def _number(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if type(value) is int else None


def _reshaped(match: re.Match[str], _: Raised) -> str | None:
    wanted, held = [int(size) for size in re.findall(r"-?\d+", match[1])], int(match[2])
    known = math.prod(size for size in wanted if size != -1)
    if -1 in wanted:
        return f"The tensor holds {held} values: {known} does not divide that."
    return f"{wanted} would be {known} values, and the tensor holds {held}."


# A whole shape on the right; a slice or a product of a shape has another number of parts.
_WHOLE_SHAPE = re.compile(r"=\s*[\w.]+\.(shape|size\(\))\s*(#.*)?$")


def _unpacked(match: re.Match[str], raised: Raised) -> str | None:
    if _WHOLE_SHAPE.search(source_of(raised)) is None:
        return None
    tensors = [(one.name, shape) for one in raised.operands if (shape := shape_of(one)) is not None]
    has = f", and {tensors[0][0]} has {len(tensors[0][1])} here" if len(tensors) == 1 else ""
    said = f"The line takes a shape of exactly {match[1]} axes apart{has}."
    return f"{said} The last one alone (x.shape[-1]) is there with any number of leading axes."


def _no_such_axis(match: re.Match[str], raised: Raised) -> str:
    axes, asked = int(match[1]) + 1, int(match[2])
    if "unsqueeze" in source_of(raised):  # it may name one axis more than there are
        return f"An axis from {-axes} to {axes - 1} can be named here, and {asked} is none of them."
    # The range of a tensor without axes is that of a tensor of one.
    return _without_axis("A tensor of at most" if axes == 1 else "A tensor of", axes, asked)


_SIZE = re.compile(r"([\w.]+)\.(?:shape|size\(\))\[(-?\d+)\]")


def _no_such_size(_: re.Match[str], raised: Raised) -> str | None:
    axes = {one.name: len(shape) for one in raised.operands if (shape := shape_of(one)) is not None}
    for name, asked in _SIZE.findall(source_of(raised)):
        if name in axes and not -axes[name] <= int(asked) < axes[name]:
            return _without_axis("A tensor of", axes[name], int(asked))
    return None


def _without_axis(owner: str, axes: int, asked: int) -> str:
    plural = "axis" if axes == 1 else "axes"
    advice = f"; {_ANY_NUMBER}" if asked >= 0 else ""
    return f"{owner} {axes} {plural} has no axis {asked}{advice}."


def _subscripts(match: re.Match[str], _: Raised) -> str:
    names, axes, operand = match.groups()
    return (
        f"The equation names {names} axes of the {ordinal(int(operand))} tensor, which has {axes} "
        "here. An ellipsis (...) in each term stands for any leading axes."
    )


def _subscript(match: re.Match[str], _: Raised) -> str:
    size, operand, before = match.groups()
    return (
        f"In an equation an axis has one length under one name: one is {size} in the "
        f"{ordinal(int(operand))} tensor, and {before} before."
    )


SIZES: tuple[ExceptionKind, ...] = (
    kind(r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", _product),
    kind(
        r"first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]",
        _batched_product,
    ),
    kind(
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton "
        r"dimension (\d+)",
        _broadcast,
    ),
    kind(r"shape '\[(.*?)\]' is invalid for input of size (\d+)", _reshaped),
    kind(
        r"view size is not compatible",
        "The numbers do not lie in memory as view needs them, as after a transposition; .reshape, "
        "or .contiguous() before .view, copies them.",
    ),
    kind(
        r"Tensor must have a last dimension with stride 1",
        "The numbers of the last axis do not lie side by side in memory, as after x[..., ::2]; "
        ".contiguous() before this call copies them.",
    ),
    kind(
        rf"number of subscripts in the equation \((\d+)\) does not match the number of dimensions "
        rf"\((\d+)\) for {_OPERANDS}",
        _subscripts,
    ),
    kind(
        rf"subscript \w has size (\d+) for {_OPERANDS} which does not broadcast with previously "
        r"seen size (\d+)",
        _subscript,
    ),
    kind(
        r"Dimension out of range \(expected to be in range of \[-?\d+, (-?\d+)\], but got (-?\d+)",
        _no_such_axis,
    ),
    kind(
        r"IndexError: tuple index out of range",
        _no_such_size,
    ),
    kind(
        r"batch\d must be a 3D tensor",
        "torch.bmm takes tensors of exactly three axes; @ (torch.matmul) takes any number of "
        "leading ones.",
    ),
    kind(
        r"(?:self|mat2) must be a matrix|t\(\) expects a tensor with <= 2 dimensions",
        "This function takes matrices only; @ (torch.matmul) and .transpose(-2, -1) take any "
        "number of leading axes.",
    ),
    kind(
        r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size "
        r"(\d+)",
        "Tensors that are joined along axis {0} must be equally long along every other axis: here "
        "one is {1}, another {2}.",
    ),
    kind(r"ValueError: (?:not enough|too many) values to unpack \(expected (\d+)", _unpacked),
    kind(
        r"IndexError: too many indices for tensor of dimension (\d+)",
        "The tensor's number of axes is {0} here; x[..., i] counts from the last one, however many "
        "there are.",
    ),
    kind(
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        "The axis of this index is {2} long and counts from 0: it has no index {0}.",
    ),
    kind(
        r"a Tensor with (\d+) elements cannot be converted to Scalar"
        r"|only one element tensors can be converted",
        "Only a tensor of one number can become a Python number.",
    ),
)
