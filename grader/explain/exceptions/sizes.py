"""Kinds of exceptions of sizes: matrix products, broadcasting, reshaping, axes, indices."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from grader.core.text import ordinal
from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind, names_in_words, shape_of, source_of
from grader.explain.exceptions.operation import Operation, Side

_ANY_NUMBER = "counted from the end (-1, -2), axes are the same with any number of leading ones"
_OPERANDS = r"operand (\d)"
# Reductions whose first argument after the tensor is an axis, and those where it may be one.
_ALONG = ("sum", "mean", "amax", "amin", "logsumexp")
_PERHAPS_ALONG = ("max", "min")
_EXCHANGES = ("transpose", "swapaxes")


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
        f"{_elementwise(operation) or _advice(operation) or _the_other_way_round(operation)}"
    )


def _elementwise(operation: Operation) -> str:
    """Returns advice to use @ if a matrix product fits the operands of *."""
    left, right = operation.shapes() or ([], [])
    if operation.name == "*" and len(left) > 1 < len(right) and left[-1] == right[-2]:
        return " If a matrix product is meant, write @: * multiplies value by value."
    return ""


def _the_other_way_round(operation: Operation) -> str:
    """Returns advice if two tensors have the same last two axes in swapped order."""
    left, right = operation.shapes() or ([], [])
    if len(left) > 1 < len(right) and left[-1] != left[-2] and left[-2:] == right[:-3:-1]:
        one, other = map(ast.unparse, operation.operands)
        return (
            f" The last two axes of {one} are {left[-2]} and {left[-1]} long, those of {other} "
            f"{right[-2]} and {right[-1]}: one is the transpose of the other."
        )
    return ""


def _advice(operation: Operation) -> str:
    """Returns advice on unequal shapes, from the code that makes the operation's operands."""
    for side in operation.sides():
        is_turned = operation.is_product and side.place == 1
        for said in (_on_reduction(operation, side), _on_exchange(operation, side, is_turned)):
            if said:
                return f"{side.said} {said}"
    return ""


def _on_reduction(operation: Operation, side: Side) -> str:
    """Returns advice on a reduction that drops its axis, if the shapes fit with that axis."""
    for call in ast.walk(side.node):
        match call:
            case ast.Call(
                func=ast.Attribute(value=owner, attr=name), args=arguments, keywords=keywords
            ) if name in (*_ALONG, *_PERHAPS_ALONG) and ast.unparse(owner) != "self":
                is_function = ast.unparse(owner) == "torch"
                along = arguments[1:2] if is_function else arguments[:1]
                given = {keyword.arg: keyword.value for keyword in keywords}
                axis = given.get("dim") or given.get("axis")
                if along and (name in _ALONG or _number(along[0]) is not None):
                    axis = along[0]
                is_dropped = "keepdim" not in given and len(arguments) <= is_function + len(along)
                whole = arguments[0] if is_function and arguments else owner
                if axis and is_dropped and _fits_if_kept(operation, side, whole, _number(axis)):
                    return f"{ast.unparse(call)} drops its axis, unless you pass keepdim=True."
    return ""


def _fits_if_kept(operation: Operation, side: Side, whole: ast.expr, axis: int | None) -> bool:
    """Returns whether shapes fit if a reduction keeps its axis, or one if `axis` is None.

    The reduction is of the tensor `whole`. Functions around a tensor mostly keep its shape.
    """
    if len(operation.operands) != 2:
        return False
    other = operation.operands[1 - side.place]
    facing = operation.shape(other) if operation.is_product else _shape_within(operation, other)
    before = [*side.shape] if side.said else _shape_within(operation, whole)
    if facing is None or before is None:
        return False
    # A variable's shape lacks the axis already.
    kept = [
        [*before[:place], 1, *before[place + (not side.said) :]]
        for place in range(len(before) + bool(side.said))
    ]
    return any(
        _fit((one, facing)[side.place], (facing, one)[side.place], operation.is_product)
        for one in (kept if axis is None else kept[axis:][:1])
    )


def _shape_within(operation: Operation, node: ast.expr) -> list[int] | None:
    shapes = (operation.shape(one) for one in ast.walk(node) if isinstance(one, ast.expr))
    return next((shape for shape in shapes if shape is not None), None)


def _fit(left: Sequence[int], right: Sequence[int], is_product: bool) -> bool:
    if is_product:
        if min(len(left), len(right)) < 2 or left[-1] != right[-2]:
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


def _on_exchange(operation: Operation, side: Side, is_turned: bool) -> str:
    """Returns advice on a transposition that swaps other axes than a tensor's last two.

    `is_turned` says that the last two must be swapped, as in the right factor of a product.
    """
    match side.node:
        case ast.Attribute(value=owner, attr="T"):
            # A transposition keeps the number of axes, so the result's shape tells it too.
            if len(operation.shape(owner) or side.shape) > 2:
                held = isinstance(owner, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
                name = ast.unparse(owner) if held else f"({ast.unparse(owner)})"
                return (
                    f".T reverses all axes of a tensor; {name}.transpose(-2, -1), or "
                    f"{name}.mT, swaps only the last two."
                )
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments) if (
            is_turned and name in _EXCHANGES
        ):
            if ast.unparse(owner) == "torch" and arguments:
                owner, *arguments = arguments
            whole = operation.shape(owner) or side.shape
            numbers = {_number(argument) for argument in arguments}
            axes = len(whole)
            last = ({-2, -1}, {axes - 2, axes - 1}, {-2, axes - 1}, {axes - 2, -1})
            is_another = axes > 2 and None not in numbers and numbers not in last
            facing = _shape_within(operation, operation.operands[0]) or whole
            if is_another and (facing[-1] == whole[-1] or numbers & {-1, axes - 1}):
                return (
                    "transpose(-2, -1) swaps the last two axes, however many there are before them."
                )
    return ""


_NAMED_ITEM = re.compile(r"([\w.]+)\[(['\"])(\w+)\2\]")


def _too_many_indices(match: re.Match[str], raised: Raised) -> str:
    tensors = {one.name for one in raised.operands if shape_of(one) is not None}
    for owner, _, name in _NAMED_ITEM.findall(source_of(raised)):
        if owner in tensors:
            return f"{owner} is a tensor here, and no dict: it has no item {name!r}."
    if any(operand.words.startswith("bool[") for operand in raised.operands):
        return (
            "A boolean index stands for as many axes as it has itself, and the tensor has only "
            f"{match[1]}; masked_fill and torch.where broadcast."
        )
    axes = "1 axis" if match[1] == "1" else f"{match[1]} axes"
    return (
        f"The tensor has {axes} here; x[..., i] counts from the last one, however many there are."
    )


def _reshaped(match: re.Match[str], _: Raised) -> str | None:
    wanted, held = [int(size) for size in re.findall(r"-?\d+", match[1])], int(match[2])
    known = math.prod(size for size in wanted if size != -1)
    if -1 in wanted:
        return f"The tensor holds {held} values: {known} does not divide that."
    return f"{wanted} would be {known} values, and the tensor holds {held}."


_LAST_TWO = 2
# A whole shape on the right; a slice or a product of a shape has another number of parts.
_WHOLE_SHAPE = re.compile(r"=\s*[\w.]+\.(shape|size\(\))\s*(#.*)?$")


def _unpacked(match: re.Match[str], raised: Raised) -> str | None:
    if _WHOLE_SHAPE.search(source_of(raised)) is None:
        return None
    tensors = [(one.name, shape) for one in raised.operands if (shape := shape_of(one)) is not None]
    has = f", and {tensors[0][0]} has {len(tensors[0][1])} here" if len(tensors) == 1 else ""
    said = f"The line takes a shape of exactly {match[1]} axes apart{has}."
    if any(len(shape) < _LAST_TWO for _, shape in tensors):
        return f"{said} The last one alone (x.shape[-1]) is there with any number of leading axes."
    return (
        f"{said} The last ones alone (x.shape[-2], x.shape[-1]) are there with any number of "
        "leading axes."
    )


def _no_such_axis(match: re.Match[str], raised: Raised) -> str:
    axes, asked = int(match[1]) + 1, int(match[2])
    if "unsqueeze" in source_of(raised):  # it may name one axis more than there are
        return f"An axis from {-axes} to {axes - 1} can be named here, and {asked} is none of them."
    # The range of a tensor without axes is that of a tensor of one.
    return _without_axis("A tensor of at most" if axes == 1 else "A tensor of", axes, asked)


def _no_such_axis_of_an_array(match: re.Match[str], _: Raised) -> str:
    return _without_axis("An array of", int(match[2]), int(match[1]))


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


def _subscript(match: re.Match[str], raised: Raised) -> str:
    letter, size, operand, before = match.groups()
    named = letter if _is_of_an_equation(letter, raised) else "one"
    return (
        f"In an equation an axis has one length under one name: {named} is {size} in the "
        f"{ordinal(int(operand))} tensor, and {before} before."
    )


def _of_result_alone(match: re.Match[str], raised: Raised) -> str:
    named = f"The letter {match[1]}" if _is_of_an_equation(match[1], raised) else "A name"
    return f"{named} is on the right of the equation only: nothing says what it stands for."


def _is_of_an_equation(letter: str, raised: Raised) -> bool:
    """Returns whether a letter is in the author's equation: einops replaces names by letters."""
    equations = re.findall(r"""["']([a-zA-Z.,]+(?: *-> *[a-zA-Z.]*)?)["']""", source_of(raised))
    return any(letter in equation for equation in equations)


def _sizes_to_split(match: re.Match[str], _: Raised) -> str:
    sizes = re.findall(r"\d+", match[2])
    return (
        f"{names_in_words(sizes)} are {sum(map(int, sizes))} together, and the axis is {match[1]}."
    )


SIZES: tuple[ExceptionKind, ...] = (
    kind(
        r"einsum\(\): invalid subscript given at index \d+",
        "An equation holds letters, commas, ellipses (...) and one arrow, ->.",
        settles=True,
    ),
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
    kind(
        r"Attempting to broadcast a dimension of length (\d+) at (-?\d+)! .* had "
        r"torch\.Size\((\[.*?\])\); but expected shape should be broadcastable to (\[.*?\])",
        "Shapes are aligned from the right. Two axes fit if they are equally long, or one of them "
        "is 1 long: {2} does not fit {3}.",
    ),
    kind(r"shape '\[(.*?)\]' is invalid for input of size (\d+)", _reshaped),
    kind(
        r"only one dimension can be inferred",
        "view and reshape work out one size (-1) and no more: name the others, or keep the leading "
        "ones as they are with *x.shape[:-1].",
    ),
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
        rf"subscript (\w) has size (\d+) for {_OPERANDS} which does not broadcast with previously "
        r"seen size (\d+)",
        _subscript,
    ),
    kind(r"output subscript (\w) does not appear", _of_result_alone),
    kind(
        r"Dimension out of range \(expected to be in range of \[-?\d+, (-?\d+)\], but got (-?\d+)",
        _no_such_axis,
    ),
    kind(
        r"AxisError: axis (-?\d+) is out of bounds for array of dimension (\d+)",
        _no_such_axis_of_an_array,
    ),
    kind(r"IndexError: tuple index out of range", _no_such_size),
    kind(
        r"matmul: Input operand 1 has a mismatch .*\(size (\d+) is different from (\d+)\)",
        "A matrix product sums over the last axis of the left array and the second to last of the "
        "right one. They must be equally long, and here one is {1} long, the other {0}.",
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
        r"1D tensors expected, but got (\d)D and (\d)D",
        "torch.dot takes two vectors; @ (torch.matmul) takes matrices and any leading axes.",
    ),
    kind(
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at "
        r"non-singleton dimension (\d+)",
        "Only an axis of size 1 can be expanded: one has size {1} here. In the shape that it is to "
        "fit, it is axis {2} with size {0}.",
    ),
    kind(
        r"number of sizes provided \((\d+)\) must be greater or equal to the number of dimensions "
        r"in the tensor \((\d+)\)",
        "expand names every axis: the tensor has {1} of them here, and {0} sizes were given.",
    ),
    kind(
        r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size "
        r"(\d+)",
        "Tensors that are joined along axis {0} must be equally long along every other axis: here "
        "one is {1}, another {2}.",
    ),
    kind(
        r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and (\[.*?\]) "
        r"at",
        "Tensors that are stacked must have one shape: here there are {0} and {1}.",
    ),
    kind(
        r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)",
        "The tensor has {0} axes here, and {1} are put into order; name each one.",
    ),
    kind(
        r"shape of the mask (\[.*?\]) at index (\d+) does not match the shape of the indexed "
        r"tensor (\[.*?\])",
        "A boolean index covers axes one by one, without broadcasting: the mask is {0}, and the "
        "tensor {2}. masked_fill and torch.where broadcast.",
    ),
    kind(
        r"Tensor must have a last dimension of size 2",
        "view_as_complex reads the last axis as pairs (real, imaginary): it must be 2 long.",
    ),
    kind(r"split_sizes to sum exactly to (\d+).*got split_sizes=\[(.*?)\]", _sizes_to_split),
    kind(r"ValueError: (?:not enough|too many) values to unpack \(expected (\d+)", _unpacked),
    kind(r"IndexError: too many indices for tensor of dimension (\d+)", _too_many_indices),
    kind(
        r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
        "The axis of this index is {2} long and counts from 0: it has no index {0}.",
    ),
    kind(
        r"IndexError: index out of range in self",
        "A tensor (an embedding's table, say) was asked for an index that it does not have.",
    ),
    kind(
        r"a Tensor with (\d+) elements cannot be converted to Scalar"
        r"|only one element tensors can be converted",
        "Only a tensor of one number can become a Python number.",
    ),
    kind(
        r"(?:tril|triu): input tensor must have at least 2 dimensions",
        "tril and triu take a matrix.",
    ),
)
