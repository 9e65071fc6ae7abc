"""Explains sizes that do not go together: products, broadcasting, reshaping, axes that are not."""

from __future__ import annotations

import itertools
import math
import re

from grader.core.wire.calls import Operand, Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind, names_in_words, shape_of, source_of

_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_ANY_NUMBER = "counted from the end (-1, -2), axes are the same with any number of leading ones"
_OPERANDS = r"operand (\d)"
_MATRIX_PRODUCT = re.compile(r"@|\b(?:matmul|mm|bmm|einsum|addmm|baddbmm|dot)\b")
_REDUCTION = re.compile(r"\b(?:sum|mean|amax|max|norm|logsumexp)\(")
_FROM_THE_FRONT = re.compile(
    r"(?:([\w.]+)\.)?(?:transpose|swapaxes|permute)\((?:([\w.]*[a-zA-Z_]\w*), ?)?"
    r"(?:[0-3], ?[0-3]|0, ?2, ?1)\)"
)
_FACTORS = re.compile(r"([\w.]*\w) \* ([\w.]*\w)")
_ALL_TURNED = re.compile(r"([\w.]*?\w)\.T\b(?!\()")


def _ordinal(number: str) -> str:
    return _ORDINALS[int(number)] if int(number) < len(_ORDINALS) else f"{int(number) + 1}th"


def _product(match: re.Match[str], raised: Raised) -> str:
    _, inner, other, last = match.groups()
    source = source_of(raised)
    is_layer = any(operand.words.startswith("Linear(") for operand in raised.operands)
    if is_layer and not _MATRIX_PRODUCT.search(source):
        return f"The layer takes vectors of {other} features, and these have {inner}."
    if "linear(" in source:
        return (
            f"linear sums over the last axis of the tensor ({inner} long) and of the weight "
            f"({other} long). They must be equally long."
        )
    said = (
        f"A matrix product sums over the last axis of the left tensor ({inner} long) and the "
        f"second to last of the right one ({other} long). They must be equally long"
    )
    if inner == last:
        return f"{said}, as they would be if the right one were transposed."
    return f"{said}.{_advice(raised)}"


def _batched_product(match: re.Match[str], raised: Raised) -> str:
    batch, inner, other_batch, other = match.groups()
    if batch != other_batch:
        return (
            f"The leading axes of the two do not agree: they hold {batch} and {other_batch}."
            f"{_advice(raised)}"
        )
    said = (
        f"A matrix product sums over the last axis of the left tensor ({inner} long) and the "
        f"second to last of the right one ({other} long). They must be equally long"
    )
    tensors = [(one.name, shape) for one in raised.operands if (shape := shape_of(one))]
    name, shape = tensors[-1] if len(tensors) == 2 else ("", [])
    advice = _advice(raised)
    if shape[-2:] == [int(other), int(inner)] and not advice:
        return f"{said}, as they are in {name}.transpose(-2, -1)."
    return f"{said}.{advice}"


def _broadcast(match: re.Match[str], raised: Raised) -> str:
    one, other, axis = match.groups()
    return (
        "Shapes are lined up from the right; two axes go together if they are equally long, or one "
        f"of them is 1 long. Here axis {axis} is {one} in one tensor and {other} in the other."
        f"{_elementwise(raised) or _advice(raised) or _the_other_way_round(raised)}"
    )


def _elementwise(raised: Raised) -> str:
    """Returns whether * stands where a matrix product would fit."""
    factors = _FACTORS.search(source_of(raised))
    shapes = {one.name: shape for one in raised.operands if (shape := shape_of(one))}
    left, right = (shapes.get(name, []) for name in (factors.groups() if factors else "  "))
    if len(left) > 1 < len(right) and left[-1] == right[-2]:
        return " * multiplies number by number; @ is the matrix product."
    return ""


def _the_other_way_round(raised: Raised) -> str:
    """Returns whether two tensors have the same last two axes, in exchanged order."""
    shapes = {one.name: shape for one in raised.operands if (shape := shape_of(one))}
    for (one, left), (other, right) in itertools.combinations(shapes.items(), 2):
        if len(left) > 1 < len(right) and left[-1] != left[-2] and left[-2:] == right[:-3:-1]:
            return (
                f" The last two axes of {one} are {left[-2]} and {left[-1]} long, those of {other} "
                f"{right[-2]} and {right[-1]}: one is the transpose of the other."
            )
    return ""


def _advice(raised: Raised) -> str:
    """Returns advice on shapes that do not fit, from the line and the origin of its operands."""
    return _advice_on(source_of(raised), raised, "") or next(
        filter(
            None, (_advice_on(one.made, raised, _set_at(one, raised)) for one in raised.operands)
        ),
        "",
    )


def _set_at(operand: Operand, raised: Raised) -> str:
    file = f"{raised.frames[-1].file}:" if raised.frames else "line "
    return f" {operand.name} is made at {file}{operand.line}: {operand.made}."


def _advice_on(source: str, raised: Raised, said: str) -> str:
    """Returns advice on a piece of code; `said` names the piece."""
    turned = _ALL_TURNED.search(source)
    if turned and _has_leading_axes(turned[1], raised):
        return (
            f"{said} .T turns round all axes of a tensor; {turned[1]}.transpose(-2, -1), or "
            f"{turned[1]}.mT, swaps the last two alone."
        )
    if _REDUCTION.search(source) and "keepdim" not in source:
        return f"{said} A sum, mean or max drops its axis, unless it is told keepdim=True."
    counted = _FROM_THE_FRONT.search(source)
    if counted and _has_leading_axes(counted[2] or counted[1] or "", raised):
        return (
            f"{said} transpose(-2, -1) swaps the last two axes, however many there are before them."
        )
    return ""


def _has_leading_axes(name: str, raised: Raised) -> bool:
    """Returns whether a tensor is more than a matrix, as far as the operands tell."""
    shapes = [
        shape
        for one in raised.operands
        if (one.name == name or re.fullmatch(rf"{re.escape(name)}\.\w+(\([^()]*\))?", one.made))
        and (shape := shape_of(one)) is not None
    ]
    return any(len(shape) > 2 for shape in shapes)


def _too_many_indices(match: re.Match[str], raised: Raised) -> str:
    if any(operand.words.startswith("bool[") for operand in raised.operands):
        return (
            "A boolean index stands for as many axes as it has itself, and the tensor has only "
            f"{match[1]}; masked_fill and torch.where broadcast."
        )
    return (
        f"The tensor has {match[1]} axes here; x[..., i] counts from the last one, however many "
        "there are."
    )


def _reshaped(match: re.Match[str], _: Raised) -> str | None:
    wanted, held = [int(size) for size in re.findall(r"-?\d+", match[1])], int(match[2])
    known = math.prod(size for size in wanted if size != -1)
    if -1 in wanted:
        return f"The tensor holds {held} numbers, which {known} does not divide."
    return f"{wanted} would be {known} numbers, and the tensor holds {held}."


# A slice of a shape, or its product with something, has another number of parts.
_WHOLE_SHAPE = re.compile(r"=\s*[\w.]+\.(shape|size\(\))\s*(#.*)?$")


def _unpacked(match: re.Match[str], raised: Raised) -> str | None:
    if _WHOLE_SHAPE.search(source_of(raised)) is None:
        return None
    tensors = [(one.name, shape) for one in raised.operands if (shape := shape_of(one)) is not None]
    has = f", and {tensors[0][0]} has {len(tensors[0][1])} here" if len(tensors) == 1 else ""
    return (
        f"The line takes a shape of exactly {match[1]} axes apart{has}. The last ones alone "
        "(x.shape[-2], x.shape[-1]) are there with any number of leading axes."
    )


def _no_such_axis(match: re.Match[str], _: Raised) -> str:
    axes, asked = int(match[1]) + 1, int(match[2])
    plural = "axis" if axes == 1 else "axes"
    advice = f"; {_ANY_NUMBER}" if asked >= 0 else ""
    return f"A tensor of {axes} {plural} has no axis {asked}{advice}."


def _subscripts(match: re.Match[str], _: Raised) -> str:
    names, axes, operand = match.groups()
    return (
        f"The equation names {names} axes of the {_ordinal(operand)} tensor, which has {axes} "
        "here. An ellipsis (...) in each term stands for any leading axes."
    )


def _subscript(match: re.Match[str], raised: Raised) -> str:
    letter, size, operand, before = match.groups()
    named = letter if _is_of_an_equation(letter, raised) else "one"
    return (
        f"In an equation an axis has one length under one name: {named} is {size} in the "
        f"{_ordinal(operand)} tensor, and {before} before."
    )


def _of_result_alone(match: re.Match[str], raised: Raised) -> str:
    named = f"The letter {match[1]}" if _is_of_an_equation(match[1], raised) else "A name"
    return f"{named} is on the right of the equation only: nothing says what it stands for."


def _is_of_an_equation(letter: str, raised: Raised) -> bool:
    """Returns whether a letter is the author's: einops has its own in the place of names."""
    equations = re.findall(r"""["']([a-zA-Z.,]+(?: *-> *[a-zA-Z.]*)?)["']""", source_of(raised))
    return any(letter in equation for equation in equations)


def _joined(match: re.Match[str], _: Raised) -> str:
    axis, expected, got = match.groups()
    return (
        f"Tensors that are joined along axis {axis} must be equally long along every other axis: "
        f"here one is {expected}, another {got}."
    )


def _axes_named(match: re.Match[str], _: Raised) -> str:
    return f"The tensor has {match[1]} axes here, and {match[2]} are put into order; name each one."


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
        "Shapes are lined up from the right. Two axes fit if they are equally long, or one of them "
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
        rf"number of subscripts in the equation \((\d+)\) does not match the number of dimensions "
        rf"\((\d+)\) for {_OPERANDS}",
        _subscripts,
    ),
    kind(
        rf"subscript (\w) has size (\d+) for {_OPERANDS} which does not broadcast with previously "
        r"seen size (\d+)",
        _subscript,
    ),
    kind(
        r"output subscript (\w) does not appear",
        _of_result_alone,
    ),
    kind(
        r"Dimension out of range \(expected to be in range of \[-?\d+, (-?\d+)\], but got (-?\d+)",
        _no_such_axis,
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
        "expand repeats only an axis of size 1: axis {2} has size {1}, and {0} was asked for.",
    ),
    kind(
        r"number of sizes provided \((\d+)\) must be greater or equal to the number of dimensions "
        r"in the tensor \((\d+)\)",
        "expand names every axis: the tensor has {1} of them here, and {0} sizes were given.",
    ),
    kind(
        r"Sizes of tensors must match except in dimension (\d+)\. Expected size (\d+) but got size "
        r"(\d+)",
        _joined,
    ),
    kind(
        r"stack expects each tensor to be equal size, but got (\[.*?\]) at entry 0 and (\[.*?\]) "
        r"at",
        "Tensors that are stacked must have one shape: here there are {0} and {1}.",
    ),
    kind(r"input\.dim\(\) = (\d+) is not equal to len\(dims\) = (\d+)", _axes_named),
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
        "Axis {1} is {2} long: its indices end one before that, and {0} was asked for.",
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
