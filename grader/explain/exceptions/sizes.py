"""Kinds of exceptions of sizes: matrix products, broadcasting, reshaping, axes, indices."""

from __future__ import annotations

import math
import re

from grader.core.text import ordinal
from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import ExceptionKind, kind, shape_of, source_of

_ANY_NUMBER = "counted from the end (-1, -2), axes are the same with any number of leading ones"
_OPERANDS = r"operand (\d)"
_REDUCTION = re.compile(r"\.(sum|mean|amax|amin|max|min|logsumexp)\([^()]")
_SUMMED = (
    "A product sums over one axis of each tensor, and the two must be equally long. In x @ y they "
    "are the last of x and the second to last of y. In a linear layer they are the last of x and "
    "of the weight. Here one is {} long, the other {}."
)


def _product(match: re.Match[str], _: Raised) -> str:
    said = _SUMMED.format(match[2], match[3])
    is_transposed = match[2] == match[4]
    return f"{said} They fit if one is transposed: .transpose(-2, -1)." if is_transposed else said


def _batched_product(match: re.Match[str], _: Raised) -> str:
    if match[1] != match[3]:
        return f"The leading axes of the two do not agree: they hold {match[1]} and {match[3]}."
    return _SUMMED.format(match[2], match[4])


def _broadcast(match: re.Match[str], raised: Raised) -> str:
    said = (
        "Shapes are aligned from the right; two axes match if they are equally long, or one of "
        f"them is 1 long. Here two axes that meet are {match[1]} and {match[2]} long."
    )
    source = source_of(raised)
    reduction = _REDUCTION.search(source)
    if reduction is None or "keepdim" in source:
        return said
    return f"{said} {reduction[1]} drops its axis, unless you pass keepdim=True."


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
    number = "at most 1 axis" if axes == 1 else f"{axes} axes"
    advice = f"; {_ANY_NUMBER}" if asked >= 0 else ""
    return f"A tensor of {number} has no axis {asked}{advice}."


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
    kind(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", _broadcast),
    kind(r"shape '\[(.*?)\]' is invalid for input of size (\d+)", _reshaped),
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
        rf"subscript \w has size (\d+) for {_OPERANDS} which does not broadcast with previously "
        r"seen size (\d+)",
        _subscript,
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
)
