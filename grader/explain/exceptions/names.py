"""Kinds of exceptions of names and programs: attributes, imports, files, exits, memory, syntax."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import sys

from grader.core.names import KNOWN_PACKAGES
from grader.core.wire.calls import Raised
from grader.core.wire.scripts import GIVEN
from grader.explain.exceptions.kinds import (
    ExceptionKind,
    Explanation,
    kind,
    names_in_words,
    shape_of,
    source_of,
)
from grader.explain.exceptions.operation import Operation

_IMPORTS = {
    "torch": "import torch",
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "Tensor": "from torch import Tensor",
    "math": "import math",
    "np": "import numpy as np",
    "einops": "import einops",
    **dict.fromkeys(("rearrange", "repeat", "reduce"), "from einops import …"),
    "einsum": "from einops import einsum, or torch.einsum",
    **dict.fromkeys(("Float", "Int", "Bool"), "from jaxtyping import …"),
    **dict.fromkeys(("Optional", "Tuple", "List", "Dict", "Any"), "from typing import …"),
}

# Functions that return values and indices along an axis.
_VALUES_AND_INDICES = (
    *("max", "min", "median", "nanmedian", "mode", "sort", "topk", "kthvalue"),
    *("cummax", "cummin"),
)


# A call without another call in it.
_CALL = re.compile(r"[\w.\])]+\([^()]*\)")


def _no_name(match: re.Match[str], raised: Raised) -> str | None:
    name = match[1]
    if name in _IMPORTS:
        return f"Is an import missing ({_IMPORTS[name]})?"
    if raised.suggestion.endswith(" import *"):
        package = raised.suggestion.split()[1].partition(".")[0]
        return f"{package} is not installed here: {raised.suggestion} makes no names."
    if raised.suggestion.startswith(("import ", "from ")):
        return f"Is an import missing ({raised.suggestion})?"
    if raised.suggestion.startswith("self."):
        return f"The object has one: is {raised.suggestion} meant?"
    return _meant(raised)


def _no_value(match: re.Match[str], raised: Raised) -> str:
    name, meant = match[1], _meant(raised)
    if re.match(rf"{name}\s*(?:[-+*/@%&|^<>]+)?=(?!=)", source_of(raised)):
        said = f"This line reads {name} before anything set it: give it a value first."
    else:
        said = (
            f"{name} has no value here. It is set further down, or in a branch or loop that was "
            "not run, or it was deleted."
        )
    return (
        f"{said}{f' {meant}' if meant else ''} A name that a function assigns is its own "
        "everywhere in it, and hides one outside."
    )


def _no_attribute(match: re.Match[str], raised: Raised) -> str | None:
    owner, name = match.groups()
    if owner == "NoneType":
        return _nothing(match, raised)
    if raised.suggestion or f"self.{name}" not in (source := source_of(raised)):
        return _meant(raised)
    if _sets(name, source):
        # If the line mentions the name again, that may be the attribute that is missing.
        if len(re.findall(rf"\b{name}\b", source)) > 1:
            return None
        return (
            f"Does the class list its attributes in __slots__ (or by slots=True), without {name}?"
        )
    if f"self.{name}(" in source:
        return f"Is self.{name} defined in this class, or set in __init__, under another name?"
    return f"Is self.{name} set in __init__ under another name, or only later?"


def _sets(name: str, source: str) -> bool:
    """Returns whether a line sets this attribute of `self`, alone or among others."""
    others = r"[\w.]+, *"
    target = rf"(?:{others})*self\.{name}\b(?:, *[\w.]+)*"
    return bool(re.match(rf"{target} *(?::[^=]+)?=(?!=)", source))


def _meant(raised: Raised) -> str | None:
    return f"Did you mean {raised.suggestion}?" if raised.suggestion else None


def _nothing(_: re.Match[str], raised: Raised) -> str:
    nothing = [operand.name for operand in raised.operands if operand.words == "None"]
    if raised.message.startswith("unsupported operand"):
        nothing = [name for name in nothing if not _is_only_passed(name, source_of(raised))]
    if not nothing and ".grad" in source_of(raised):
        return (
            "Something there is None. A gradient is None where none reached that tensor: skip it, "
            "or ask whether the parameter itself was given."
        )
    if not nothing:
        return "Something there is None, as is what a function without a return gives."
    verb = "is" if len(nothing) == 1 else "are"
    return (
        f"{names_in_words(nothing)} {verb} None there, as is an argument that was left out, or "
        "what a function without a return gives."
    )


def _is_only_passed(name: str, source: str) -> bool:
    """Returns whether a line uses a name only as an argument of calls.

    An operator then acts on a call's result, not on the named value.
    """
    outside = source
    while (shorter := _CALL.sub("call", outside)) != outside:
        outside = shorter
    return not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w(])", outside)


def _truth(_: re.Match[str], raised: Raised) -> str:
    tensors = [operand.name for operand in raised.operands if shape_of(operand) is not None]
    equation = re.search(r"\beinsum\(\s*([\w.]+)\s*,", source_of(raised))
    if equation and equation[1] in tensors:
        return "torch's einsum takes the equation first, then the tensors."
    return f"Only a tensor of one number is true or false.{_on_truth(Operation.of(raised))}"


# If the whole condition is a variable, the exception has no operation.
_CONDITION = re.compile(r"(?:if|elif|while) (?:not )?([\w.]+):")


def _on_truth(operation: Operation) -> str:
    """Returns advice on the operation that converted a tensor to a boolean."""
    match operation.node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return " in compares with ==, which gives a tensor of booleans here."
        case ast.Call(func=ast.Name(id="max" | "min" as name)):
            return (
                f" Python's {name} compares tensors as a whole; torch.{name}imum compares them "
                "value by value."
            )
        case ast.Compare():
            return " .all() or .any() turns a comparison into one truth value."
    condition = _CONDITION.match(source_of(operation.raised))
    asked = condition[1] if condition else _asked_number(operation)
    if asked:
        return f" To ask whether it was given, write {asked} is None or {asked} is not None."
    return " To combine booleans, write & | ~ for and, or, not. To ask for None, write is None."


def _asked_number(operation: Operation) -> str:
    """Returns the first variable of an `and` or `or` if it is a tensor of numbers, else ""."""
    node = operation.node.values[0] if isinstance(operation.node, ast.BoolOp) else operation.node
    name = ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    numbers = (
        operand.name
        for operand in operation.raised.operands
        if shape_of(operand) is not None and not operand.words.startswith("bool")
    )
    return name if name in numbers else ""


def _pair(match: re.Match[str], raised: Raised) -> str:
    function = match[1] or match[2]
    if function not in _VALUES_AND_INDICES:
        return f"{function} gives several tensors at once: take one of them, or unpack them."
    pairs = [one.name for one in raised.operands if one.words.startswith("(")]
    name = pairs[0] if len(pairs) == 1 else f"x.{function}(dim=...)"
    return (
        f"{function} along an axis gives two tensors, values and indices: take {name}.values, or "
        "unpack the two."
    )


def _uncalled(_: re.Match[str], raised: Raised) -> str:
    functions = [one.name for one in raised.operands if one.words.startswith("the function ")]
    which = f"{functions[0]} is" if functions else "Something there is"
    return (
        f"{which} a function that was not called: round brackets after it call it (a @property "
        "needs none)."
    )


NAMES: tuple[ExceptionKind, ...] = (
    kind(r"NameError: name '(\w+)' is not defined", _no_name, settles=True),
    kind(r"UnboundLocalError: cannot access local variable '(\w+)'", _no_value, settles=True),
    kind(r"torch\.return_types\.(\w+)|'return_types\.(\w+)'", _pair),
    kind(
        r"TypeError: (?!cannot pickle).*"
        r"'(?:method|function|builtin_function_or_method|method_descriptor)'",
        _uncalled,
    ),
    kind(
        r"descriptor '__init__' requires a 'super' object",
        "super itself is called as well: super().__init__(...).",
        settles=True,
    ),
    kind(
        r"TypeError: (\w+)\(\) takes no arguments$",
        "{0} has no __init__ that takes arguments: check its name, with two underscores on each "
        "side.",
    ),
    kind(
        r"can only concatenate (\w+) \(not \"(\w+)\"\) to",
        "+ joins two values of one type; here one is of type {0}, the other of type {1}.",
    ),
    kind(r"AttributeError: '(\w+)' object has no attribute '(\w+)'", _no_attribute),
    kind(r"AttributeError: .*has no attribute|^KeyError: ", lambda _, raised: _meant(raised)),
    kind(r"TypeError: .*'NoneType'", _nothing),
    kind(r"TypeError: linear\(\).*not NoneType|must be [^,]+, not NoneType", _nothing),
    kind(r"TypeError: expected Tensor as element \d+ .*but got NoneType", _nothing),
    # Beside tensors and floats, which fit, None alone can be what does not.
    kind(
        r"invalid combination of arguments - got \((?:(?:Tensor|float), )*NoneType\b"
        r"(?:, (?:Tensor|float|NoneType))*\)",
        _nothing,
    ),
    kind(r"(?:Boolean|bool) value of Tensor with (?:more than one|no) value", _truth),
    kind(
        r"TypeError: '(\w+)' object is not callable",
        "Round brackets call what stands before them, here a value of type {0}. Should they be "
        "square, is an operator missing, or does the name hide a function?",
    ),
)


def _no_module(match: re.Match[str], raised: Raised) -> str:
    name = match[1]
    top, _, inner = name.partition(".")
    if name == "grader":
        return "The grader is not there while it grades: leave that import out."
    # A submission may have a `grader` of its own, and never sees the installed one.
    is_installed = top != "grader" and top in importlib.metadata.packages_distributions()
    if "is not a package" in raised.message:
        owner, _, last = name.rpartition(".")
        return f"{owner} is a single file here, and no folder that could hold {last}."
    if top in sys.stdlib_module_names:
        return f"The standard library of this Python has no {name}."
    if is_installed:
        return f"The package {top} is installed here, and has no {name}: in this version, perhaps."
    if top in KNOWN_PACKAGES and not inner:
        return f"The package {top} is not installed here; the assignment does without it."
    if inner:
        return f"Your own {top} is here, and has no {name}: was a file left out, or renamed?"
    return (
        f"Imports find neither a file {top}.py nor an installed package of that name. A file in a "
        f"folder is imported by the folder's name, too (folder.{top})."
    )


def _not_in_module(match: re.Match[str], raised: Raised) -> str:
    name, module = match.groups()
    if raised.suggestion:
        return f"{module} has no {name}: did you mean {raised.suggestion}?"
    return f"{module} has no {name}: does it have another name there, or is that an older file?"


def _relative(_: re.Match[str], raised: Raised) -> str:
    imported = re.search(r"from \.+(\w+)", source_of(raised))
    named = f"from {imported[1]} import …" if imported else "from module import …"
    return f"The file is not part of a package: write {named}, without the dot."


IMPORTS: tuple[ExceptionKind, ...] = (
    kind(r"ModuleNotFoundError: No module named '([\w.]+)'", _no_module),
    kind(
        r"ImportError: cannot import name '(\w+)' from partially initialized module '([\w.]+)'",
        "{1} is not finished when {0} is imported from it. Files import each other in a circle, or "
        "one has the name of a package that it imports. Put shared code into a third file.",
    ),
    kind(r"ImportError: cannot import name '(\w+)' from '([\w.]+)'", _not_in_module),
    kind(r"ImportError: attempted relative import with no known parent package", _relative),
    # The path of the tests' files comes from `grader/worker/marshalling.py`.
    kind(
        rf"FileNotFoundError: .*No such file or directory: '(?:…|[^'\n]*{GIVEN}\w+/\d+)/([^'\n]+)'",
        "There is no {0} in the folder of the tests' files. A later call finds only the file at "
        "the very path that the tests pass.",
    ),
    kind(
        r"FileNotFoundError: .*No such file or directory: '(/[^'\n]{1,200})'",
        "There is no {0} on the machine that runs the tests. Hand the file in, and write its path "
        "from the top of what you hand in.",
    ),
    # In `scratch/` are temporary files, which a program names by a path from the root.
    kind(
        r"FileNotFoundError: .*No such file or directory: '(?!scratch/)([^'\n]{1,200})'",
        "There is no {0} here: a path that begins with a name is looked up from the top of what "
        "was handed in.",
    ),
)


def _exit(match: re.Match[str], _: Raised) -> Explanation:
    text = "" if match[1] in ("None", "0") else match[1].strip()
    message = "the program was ended" + (f" with {text[:200]}" if text else "")
    return Explanation(
        "sys.exit(), exit() and quit() end the whole program, and so does argparse on wrong "
        "arguments: return a value or raise an exception instead.",
        message,
    )


def _recursion(_: re.Match[str], raised: Raised) -> str | None:
    if len(set(raised.frames)) == len(raised.frames):  # a library recursed, or the compiler
        return None
    functions = [frame.function for frame in raised.frames]
    if len(functions) > 2 and len(set(functions[-3:])) == 1:
        return f"{functions[-1]} calls itself too deeply for Python, perhaps without end."
    return "Functions call each other too deeply for Python, perhaps without end."


def _assertion(_: re.Match[str], raised: Raised) -> str | None:
    if not re.match(r"assert\b", source_of(raised)):
        return None
    return "This assert is your own, and does not hold here."


def _memory(match: re.Match[str], _: Raised) -> Explanation:
    size = int(match[1]) / (1 << 30)
    return Explanation(
        "Is that tensor larger than it need be: does broadcasting blow up two axes that should "
        "have been one, or is a size wrong?",
        f"not enough memory for a tensor of {size:,.3g} GiB",
    )


def _one_equals_sign(_: re.Match[str], raised: Raised) -> str | None:
    """Returns advice if a condition has = in the place of ==."""
    source = source_of(raised)
    is_condition = source.startswith(("if ", "elif ", "while ", "return ", "assert "))
    at = source[raised.column - 1 : raised.column + 1] if raised.column else ""
    if is_condition and at.startswith("=") and at != "==":
        return "One = sets a name; == compares."
    return None


def _of_a_notebook(_: re.Match[str], raised: Raised) -> str | None:
    # A continued line may begin with `% b` or `!= b`.
    if re.match(r"%%?[A-Za-z]|!\s*[\w./~]", source_of(raised)):
        return "A line that begins with % or ! is for notebooks, not for Python: leave it out."
    return None


_TABS = "Indent with spaces alone: an editor can turn every tab into four of them."
_NO_READER = "Nobody is there to type: input() cannot be answered."

PROGRAM: tuple[ExceptionKind, ...] = (
    kind(r"^SystemExit: (.*)", _exit),
    kind(
        r"^BdbQuit: ",
        lambda *_: Explanation(
            "Nobody is there to type into a debugger: leave breakpoint() out of what you hand in.",
            "a debugger was started",
        ),
    ),
    kind(r"^EOFError: EOF when reading a line", _NO_READER),
    # With -s, as pytest advises, a student could type; in class nobody can.
    kind(
        r"^OSError: pytest: reading from stdin",
        lambda *_: Explanation(_NO_READER, "the program reads from the keyboard"),
    ),
    kind(r"^KeyboardInterrupt: ", lambda *_: Explanation("", "raised by the code itself")),
    kind(r"^RecursionError: ", _recursion),
    kind(r"^AssertionError: ", _assertion),
    kind(r"tried to allocate (\d{1,18}) bytes", _memory),
    kind(r"^SyntaxError: invalid syntax", _of_a_notebook),
    kind(r"^SyntaxError: invalid syntax", _one_equals_sign),
    kind(r"^TabError: ", _TABS),
)
