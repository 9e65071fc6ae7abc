"""Kinds of exceptions of calls: arguments, annotations, autograd and modules."""

from __future__ import annotations

import math
import re

from grader.core.wire.calls import Raised
from grader.explain.exceptions.kinds import (
    ExceptionKind,
    Explanation,
    dtype_name,
    kind,
    names_in_words,
)
from grader.testing.kinds import with_article

_TYPE = re.compile(r"<class '(?:\w+\.)*(.*?)'>", re.DOTALL)


def _beartype(match: re.Match[str], raised: Raised) -> Explanation:
    function, what, hint = match.groups()
    name = function.rpartition(".")[2]
    parameter = re.match(r"parameter (\w+)", what)
    subject = f"the parameter {parameter[1]} of {name}" if parameter else f"the result of {name}"
    because = raised.message.rpartition(", as ")[2].strip().rstrip(".")
    simple = because if "\n" not in because and len(because) < 150 and "<" not in because else ""
    return _explained(subject, _type(hint), simple)


def _jaxtyping(match: re.Match[str], raised: Raised) -> Explanation:
    name = match[2].rpartition(".")[2]
    parameter = re.search(r"typechecking parameter '(\w+)'", raised.message)
    result = match[1].startswith("return")
    subject = f"the parameter {parameter[1]} of {name}" if parameter else f"a parameter of {name}"
    hint = re.search(r"Expected type: (.*?)\.\n", raised.message)
    actual = re.search(r"Actual value: (\S+?)(?:\(torch\))?\n", raised.message)
    return _explained(
        f"the result of {name}" if result else subject,
        _type(hint[1]) if hint else "another type",
        f"it was {actual[1]}" if actual else "",
    )


def _type(hint: str) -> str:
    match = _TYPE.search(hint)
    return (match[1] if match else hint)[:100]


def _explained(subject: str, hint: str, because: str) -> Explanation:
    said = f"the annotation says that {subject} is {hint}" + (f", but {because}" if because else "")
    return Explanation("Either the annotation or the argument is wrong.", said)


ANNOTATIONS: tuple[ExceptionKind, ...] = (
    kind(
        r"^BeartypeCallHint\w+Violation: (?:Function|Method|Coroutine) (\S+?)\(\) "
        r"(parameter \w+|return).*? violates type hint (.*?), as ",
        _beartype,
    ),
    kind(
        r"^TypeCheckError: Type-check error whilst checking the (parameters|return value) of "
        r"(\S+?)\.\n",
        _jaxtyping,
    ),
)


_ALONG_AN_AXIS = ("cat", "concat", "concatenate", "stack")
_OF_A_LIST = (*_ALONG_AN_AXIS, "hstack", "vstack", "dstack", "column_stack")
_OF_SIZES = ("ones", "zeros", "empty", "rand", "randn")
_OF_TWO_AXES = ("transpose", "swapaxes")
_NAME = re.compile(r"'(\w+)'|\"(\w+)\"")


def _unexpected(match: re.Match[str], raised: Raised) -> str:
    return _without_own(match[1], raised) or _sentence(
        raised, f"{match[1]} has no parameter {match[2]}", f"with {match[2]}"
    )


def _missing(match: re.Match[str], raised: Raised) -> str:
    names = [one or other for one, other in _NAME.findall(match[2])] or [match[2][:100]]
    lacking = names_in_words(names)
    return _sentence(raised, f"{match[1]} also needs {lacking}", f"without {lacking}")


def _too_many(match: re.Match[str], raised: Raised) -> str:
    name = match[1].rpartition(".")[2]
    if name in _OF_A_LIST and not raised.accepts:
        return _in_a_list(name)
    if name in _OF_TWO_AXES and not raised.accepts:
        return f"{name} swaps two axes: .{name}(-2, -1); permute puts all of them in order."
    if name in _OF_SIZES and not raised.accepts:
        return f"torch.{name} takes whole numbers, or one tuple of them, and all else by name."
    return _without_own(match[1], raised) or _sentence(
        raised, f"{match[1]} was given more than it takes", "with another number"
    )


def _in_a_list(name: str) -> str:
    axis = ", dim=-1" if name in _ALONG_AN_AXIS else ""
    return f"torch.{name} takes its tensors in one list or tuple: torch.{name}([a, b]{axis})."


def _without_own(called: str, raised: Raised) -> str:
    """Returns advice if a class has no `__init__` but that of a module of torch, else ""."""
    name, _, method = called.rpartition(".")
    inherited = re.match(r"(\w+)\.__init__\(\*args, \*\*kwargs\)", raised.accepts)
    if method != "__init__" or inherited is None or inherited[1] == name:
        return ""
    return (
        f"{name} has no __init__ of its own, and gets that of {inherited[1]}: check its name, with "
        "two underscores on each side."
    )


_SIGNATURE = re.compile(r"\* \(([^()]*)\)")


def _no_combination(match: re.Match[str], _: Raised) -> str | None:
    """Returns the argument that a torch function lacks, if every signature names the same one."""
    got = match[2].split(", ")
    lacking: set[str] = set()
    for signature in _SIGNATURE.findall(match[3]):
        given, further = signature.split(", ")[: len(got)], signature.split(", ")[len(got) :]
        if [one.split()[0] for one in given] != got or not further or "=" in further[0]:
            return None
        lacking.add(further[0].rpartition(" ")[2])
    return f"{match[1]} also needs {lacking.pop()}." if len(lacking) == 1 else None


def _twice(match: re.Match[str], raised: Raised) -> str:
    said = f"{match[1]} is given {match[2]} twice, by position and by name"
    return _sentence(raised, said, f"with {match[2]}")


_IN_PLACE_OF_A_TENSOR = {
    "tuple": "does a function of yours return more than the one tensor?",
    "list": "torch.stack makes one tensor of several, torch.tensor one of numbers.",
    "numpy.ndarray": "torch.from_numpy makes a tensor of it, without a gradient.",
}
# A type as torch names it. `NAMES` explain None and a pair of values and indices, and the type of
# a stub says that its package is not installed.
_GOT = r"(?!NoneType|torch\.return_types|\S+ \(not installed\))([\w.]+)"


def _of_another_type(match: re.Match[str], raised: Raised) -> str:
    """Returns the types that a torch function expects and gets, with advice on common cases."""
    name, wanted, got = match[1], match[3], match[4]
    if module := _module(match, raised):
        return module
    first, second = with_article(wanted), with_article(got)
    said = f"torch's {name} expects {first} there, and gets {second}"
    if name in _OF_A_LIST and got == "Tensor":
        return _in_a_list(name)
    if got == "float" and "int" in wanted:
        return f"{said}: // divides whole numbers to a whole one, int(...) makes one of a float."
    if got in ("int", "float") and wanted == "Tensor" and hasattr(math, name):
        return f"{said}: of a plain number, math.{name} gives the same."
    if got in _IN_PLACE_OF_A_TENSOR and wanted == "Tensor":
        return f"{said}: {_IN_PLACE_OF_A_TENSOR[got]}"
    if got in ("method", "function", "builtin_function_or_method"):
        return f"{said}: round brackets after its name call it."
    return f"{said}."


def _module(match: re.Match[str], raised: Raised) -> str | None:
    """Returns how to apply the only module among the operands, of a class that the text names."""
    begins = re.compile(rf"(?:{'|'.join(map(re.escape, match.groups()))})\((?:\w+ )?\w+\[")
    modules = [one.name for one in raised.operands if begins.match(one.words)]
    if len(modules) != 1:
        return None
    return f"{modules[0]} is a module: {modules[0]}(x) applies it to a tensor x."


def _among_tensors(match: re.Match[str], _: Raised) -> str:
    place, got = match.groups()
    said = f"torch takes only tensors there, and element {place} is {with_article(got)}"
    if got in ("float", "int"):
        return f"{said}: torch.tensor makes a tensor of numbers."
    return f"{said}: {_IN_PLACE_OF_A_TENSOR[got]}" if got in _IN_PLACE_OF_A_TENSOR else f"{said}."


def _sentence(raised: Raised, what: str, called: str) -> str:
    """Returns what is wrong with a call, with the parameters of the function, if known."""
    if not raised.accepts:
        return f"{what}."
    if raised.frames:
        return f"{what}: it is {raised.accepts}."
    return (
        f"The tests call it {called}, by the names of the parameters in the assignment's "
        f"adapters.py; yours is {raised.accepts}."
    )


def _no_size(match: re.Match[str], _: Raised) -> str:
    place, given = match.groups()
    found = "None" if given == "NoneType" else f"of type {given}"
    said = f"Every size must be an integer, and size {place} is {found}."
    if given in ("NoneType", "str", "torch.dtype", "torch.device"):
        return f"{said} A dtype and a device need their names: dtype=…, device=…."
    return said


ARGUMENTS: tuple[ExceptionKind, ...] = (
    kind(r"TypeError: (\S+)\(\) got an unexpected keyword argument '(\w+)'", _unexpected),
    kind(
        r"TypeError: (\S+)\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.*)",
        _missing,
    ),
    kind(
        r"TypeError: (\S+)\(\) takes .* but \d+ (?:positional arguments? \(and .*?\) )?"
        r"(?:was|were) given",
        _too_many,
    ),
    kind(r"TypeError: (\S+)\(\) got multiple values for (?:keyword )?argument '(\w+)'", _twice),
    kind(
        r"TypeError: (\w+)\(\): argument '(\w+)' \(position \d+\) must be (.+?), not " + _GOT,
        _of_another_type,
    ),
    kind(r"TypeError: unsupported operand type\(s\) for \S+: '(\w+)' and '(\w+)'", _module),
    kind(
        rf"TypeError: expected Tensor as element (\d+) in argument \d+, but got {_GOT}",
        _among_tensors,
    ),
    kind(
        r"TypeError: (\w+)\(\) received an invalid combination of arguments - "
        r"got \(([^()]*)\), but expected one of:(.*)",
        _no_combination,
    ),
    kind(
        r"TypeError: type '(\w+)' is not subscriptable",
        "{0} takes no square brackets: leave them out of an annotation, and write round ones to "
        "call it.",
        settles=True,
    ),
    kind(
        r"argument 'size' failed to unpack the object at pos (\d+) with error \"type must be tuple "
        r"of ints, ?but got ([\w.]+)\"",
        _no_size,
    ),
)


_INIT = (
    "super().__init__(...) was not called before: call it first in the __init__ of a class that "
    "is derived from one of torch's."
)
_MADE_BY_TORCH = (
    "parameters|buffers|modules|non_persistent_buffers_set|"
    r"(?:forward|backward|state_dict|load_state_dict|optimizer)_\w*hooks\w*"
)


def _no_forward(match: re.Match[str], _: Raised) -> str:
    if match[1] in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        return f"A {match[1]} only holds what is in it: loop over it, and call each module."
    return (
        f"The method of {match[1]} that does the work must be called forward, and be indented as "
        "part of the class."
    )


_NUMPY = "numpy reads the CPU's memory only, and ends the gradient: stay with torch operations."

AUTOGRAD: tuple[ExceptionKind, ...] = (
    kind(
        r"a (?:view of a )?leaf Variable that requires grad is being used in an in-place",
        "The line writes into a tensor that needs a gradient, an input or a parameter. Make a "
        "new tensor instead (torch.stack, torch.cat, x * y); to set a parameter, use "
        "torch.no_grad().",
    ),
    kind(
        r"needed for gradient computation has been modified by an inplace operation",
        "A tensor was changed in place (+=, x[...] =, a name that ends in _) after autograd "
        "saved it for the gradient. Make a new tensor instead.",
    ),
    kind(
        r"more than one element of the written-to tensor refers to a single memory",
        "The line writes into a tensor of which several numbers are one in memory, as expand makes "
        "them: make a new tensor instead.",
    ),
    kind(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "numpy ends the gradient: stay with torch operations.",
    ),
    kind(r"can't convert (\S+) device type tensor to numpy", _NUMPY),
    kind(
        r"Got unsupported ScalarType (\w+)",
        lambda match, _: f"numpy has no {dtype_name(match[1])}: stay with torch operations.",
    ),
    kind(
        r"element 0 of tensors does not require grad",
        "As far as autograd knows, the result depends on nothing that needs a gradient: was it "
        "computed under torch.no_grad(), detached, or made of plain numbers?",
    ),
    kind(
        r"attribute '(\w+)' already exists",
        "The module has a {0} already: an attribute, a parameter or a method. Leave out an earlier "
        "assignment, or choose another name.",
    ),
    kind(r"cannot assign (?:module|parameters?) before Module\.__init__\(\) call", _INIT),
    kind(rf"has no attribute '_(?:{_MADE_BY_TORCH})'", _INIT),
    kind(
        r"cannot assign '[\w.]+' as parameter '(\w+)' \(torch\.nn\.Parameter or None expected\)",
        "{0} is a parameter, and only a parameter can take its place: wrap the tensor in "
        "torch.nn.Parameter(...), or copy its numbers with .copy_(...) under torch.no_grad().",
    ),
    kind(
        r"ValueError: optimizer got an empty parameter list",
        "The optimizer was given no parameters. A generator, as module.parameters() is, can be "
        "read only once: make a list of it first if it is needed again.",
    ),
    kind(
        r"TypeError: Protocols cannot be instantiated",
        "A Protocol only declares methods. If your own class has the same name, the one that is "
        "defined last counts: rename yours, or keep both in files of their own.",
    ),
    kind(r"Module \[(\w+)\] is missing the required \"forward\" function", _no_forward),
)
