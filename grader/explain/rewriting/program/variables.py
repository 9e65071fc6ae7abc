"""The variables of a scope, and guesses of the natures of values."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from grader.explain.rewriting.program.source import Function, names_in, parameters
from grader.explain.rewriting.program.vocabulary import Nature, in_use, kinship, nature_of_name

AXIS_KEYWORDS = frozenset({"dim", "axis", "dims", "start_dim", "end_dim", "dim0", "dim1", "axes"})
# Gives the nature of a variable, if it is known.
Known = Callable[[str], Nature | None]
# Parameters that usually count something.
_COUNTS = ("n", "h", "d", "b", "t")
_OF_CONSTANTS: Mapping[type, Nature] = {bool: Nature.FLAG, int: Nature.SIZE, float: Nature.NUMBER}
_OF_CALLS: Mapping[str, Nature] = {
    **dict.fromkeys(("size", "numel", "dim", "len", "int", "floor", "ceil"), Nature.SIZE),
    **dict.fromkeys(("float", "item"), Nature.NUMBER),
    **dict.fromkeys(("tril", "triu", "bool", "isinf"), Nature.MASK),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not"), Nature.MASK),
    **dict.fromkeys(("range", "zip", "enumerate", "super", "list"), Nature.OTHER),
}


def nature_of_parameter(name: str) -> Nature | None:
    """Returns the nature that a parameter's name suggests; some single letters are sizes."""
    return nature_of_name(name) or (Nature.SIZE if name in _COUNTS else None)


def nature_of_annotation(annotation: ast.expr | None) -> Nature | None:
    """Returns the nature that a parameter's annotation states, or None."""
    if annotation is None:
        return None
    text = ast.unparse(annotation)
    if "Tensor" in text or re.match(r"(Float|Int|Bool)\b", text):
        return Nature.MASK if "Bool" in text else None if "|" in text else Nature.TENSOR
    plain = {"int": Nature.SIZE, "float": Nature.NUMBER, "bool": Nature.FLAG, "str": Nature.OTHER}
    return plain.get(text.split(" ")[0])


def nature_of_attribute(name: str, node: ast.AST) -> Nature:
    """Returns the nature of an attribute from the annotation, property or value that tells it.

    An instance of a class counts as a layer.
    """
    match node:
        case ast.AnnAssign(annotation=told):
            return nature_of_annotation(told) or nature_of_name(name) or Nature.OTHER
        case ast.FunctionDef(returns=told, body=[*_, last]):
            value = last.value if isinstance(last, ast.Return) else None
            known = nature_of_annotation(told) or nature_of_name(name)
            return known or (Nature.OTHER if value is None else nature_of(value))
        case ast.Call(func=ast.Attribute(attr=made) | ast.Name(id=made)) if made[:1].isupper():
            return Nature.WEIGHT if made == "Parameter" else Nature.FUNCTION
        case ast.expr():
            return nature_of_name(name) or nature_of(node)
    return Nature.OTHER


def nature_of(node: ast.expr, known: Known = lambda _: None) -> Nature:
    """Returns the nature of an expression; `known` gives the natures of variables."""
    match node:
        case ast.Name(id=name):
            return known(name) or nature_of_name(name) or Nature.OTHER
        case ast.Constant(value=value):
            return _OF_CONSTANTS.get(type(value), Nature.OTHER)
        case ast.Compare(left=left, comparators=[right, *_]):
            both = (nature_of(left, known), nature_of(right, known))
            return Nature.MASK if any(one.is_tensor for one in both) else Nature.FLAG
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return Nature.FLAG
        case ast.Attribute(attr="shape"):
            return Nature.SHAPE
        case ast.Attribute(attr="inf" | "pi" | "e"):
            return Nature.NUMBER
        case ast.Attribute(value=value, attr=attr):
            told = known(f"{ast.unparse(value)}.{attr}") or nature_of_name(attr)
            return told or nature_of(value, known)
        case ast.Subscript(value=value, slice=index):
            inner = nature_of(value, known)
            is_size = inner is Nature.SHAPE and not isinstance(index, ast.Slice)
            return Nature.SIZE if is_size else inner
        case ast.UnaryOp(operand=inner) | ast.IfExp(body=inner):
            return nature_of(inner, known)
        case ast.BinOp(left=left, op=op, right=right):
            return _of_operation(nature_of(left, known), op, nature_of(right, known))
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"))):
            return Nature.NUMBER
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return _OF_CALLS.get(name, Nature.TENSOR)
    return Nature.TENSOR


def _of_operation(left: Nature, op: ast.operator, right: Nature) -> Nature:
    if left.is_tensor or right.is_tensor or isinstance(op, ast.MatMult):
        is_mask = isinstance(op, (ast.BitAnd, ast.BitOr)) and Nature.MASK in (left, right)
        return Nature.MASK if is_mask else Nature.TENSOR
    if left is right is Nature.SIZE and not isinstance(op, (ast.Div, ast.Pow)):
        return Nature.SIZE
    return Nature.NUMBER if left.is_number or right.is_number else Nature.OTHER


# Bounds the work: ordinary scopes have fewer names.
_MOST_NAMES = 100


@dataclass(slots=True)
class Variable:
    """A name that code can read: a variable, a parameter, or an attribute like `self.scale`.

    `first` is the line that first sets it, or 0 if that is outside of the scope. `is_own` tells
    whether the scope binds it, and `is_inner` whether only a lambda or a comprehension in the scope
    does. `siblings` holds the variables that one statement unpacks together
    with it, `made_of` those from which it is computed.
    """

    name: str
    nature: Nature
    first: int = 0
    is_own: bool = False
    is_inner: bool = False
    reads: int = 0
    siblings: set[str] = field(default_factory=set)
    made_of: set[str] = field(default_factory=set)

    @property
    def is_attribute(self) -> bool:
        """Returns whether it is an attribute of `self`."""
        return self.name.startswith("self.")


class Names(dict[str, Variable]):
    """The variables of a scope by name, in the order in which they appear."""

    def nature(self, name: str) -> Nature | None:
        """Returns the nature of a variable, or None."""
        return self[name].nature if name in self else None

    def before(self, line: int) -> list[Variable]:
        """Returns the variables that are set before a line."""
        return [one for one in self.values() if one.first < line]

    def kin(self, one: str, other: str) -> int:
        """Returns the kinship of two variables: 2 for siblings, else that of their names."""
        return 2 if one in self and other in self[one].siblings else kinship(one, other)


def learn(statement: ast.stmt, names: Names) -> None:
    """Records in `names` the natures and the sources of variables that a statement sets."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value)
            | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
        ):
            told = nature_of(value, names.nature)
            by_name = nature_of_name(name)
            if told is Nature.OTHER or (by_name is Nature.MASK and told is Nature.TENSOR):
                told = by_name or told
            elif told is Nature.TENSOR and in_use().suits(name, Nature.MASK):
                told = Nature.MASK
            _set(names, name, told, statement.lineno)
            if name in names:
                names[name].made_of = set(names_in(value))
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            unpacked = {one.id for one in targets if isinstance(one, ast.Name)} - {"_"}
            for place, target in enumerate(targets):
                inner = target.value if isinstance(target, ast.Starred) else target
                if isinstance(inner, ast.Name):
                    told = _of_element(value, place, len(targets), names)
                    if told is Nature.TENSOR:
                        told = nature_of_name(inner.id) or told
                    _set(names, inner.id, told, statement.lineno)
            for name in unpacked & names.keys():
                names[name].siblings |= unpacked - {name}
        case ast.For(target=target, iter=over):
            for name in names_in(target):
                _set(names, name, _of_loop(name, over), statement.lineno)


def note_uses(statement: ast.stmt, names: Names) -> None:
    """Counts the variables that a statement reads, and marks masks by their use.

    A function or class reads names of the scope around it, and binds none there.
    """
    own, reads = _only_target(statement), Counter[str]()
    binds = not isinstance(statement, Function | ast.ClassDef)
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                reads[name] += name != own
            case ast.Compare() if (asked := asked_for_none(node)) is not None:
                reads[asked.id] -= asked.id != own
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Load()):
                reads[f"self.{attr}"] += 1
            case (
                ast.Attribute(value=ast.Name(id=name))
                | ast.Subscript(value=ast.Name(id=name))
                | ast.BinOp(left=ast.Name(id=name), op=ast.MatMult())
            ):
                if names.nature(name) is Nature.SIZE:
                    names[name].nature = Nature.TENSOR
            case ast.Lambda(args=given) if binds:
                for one in parameters(given):
                    told = nature_of_name(one.arg) or Nature.TENSOR
                    variable = Variable(one.arg, told, is_own=True, is_inner=True)
                    names.setdefault(one.arg, variable)
            case ast.comprehension(target=target, iter=over) if binds:
                for name in names_in(target):
                    told = _of_loop(name, over)
                    variable = Variable(name, told, statement.lineno - 1, is_inner=True)
                    names.setdefault(name, variable)
            case (
                ast.Call(
                    func=ast.Attribute(attr="masked_fill" | "masked_fill_" | "where"),
                    args=[ast.Name(id=name), *_],
                )
                | ast.UnaryOp(op=ast.Invert(), operand=ast.Name(id=name))
            ):
                if names.nature(name) is Nature.TENSOR:
                    names[name].nature = Nature.MASK
    for name in reads.keys() & names.keys():
        names[name].reads += reads[name]


def asked_for_none(node: ast.AST) -> ast.Name | None:
    """Returns the variable that a test compares with None; this does not count as a use."""
    match node:
        case ast.Compare(
            left=ast.Name() as asked,
            ops=[ast.Is() | ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            return asked
    return None


def _only_target(statement: ast.stmt) -> str | None:
    """Returns the variable that a statement sets; reading it there does not count as a use."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
    return None


def _of_element(value: ast.expr, place: int, count: int, names: Names) -> Nature:
    if isinstance(value, ast.Tuple) and len(value.elts) == count:
        return nature_of(value.elts[place], names.nature)
    if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
        value = value.elt
    told = nature_of(value, names.nature)
    return Nature.SIZE if told is Nature.SHAPE else told


def _of_loop(name: str, over: ast.expr) -> Nature:
    """Returns the nature of a loop's variable: of a range a size, else as its name tells."""
    if isinstance(over, ast.Call) and ast.unparse(over.func) == "range":
        return Nature.SIZE
    return nature_of_name(name) or Nature.TENSOR


def _set(names: Names, name: str, nature: Nature, line: int) -> None:
    if len(names) < _MOST_NAMES or name in names:
        one = names.setdefault(name, Variable(name, nature))
        one.nature = nature
        one.first, one.is_own = one.first if one.is_own else line, True
        one.is_inner = False
