"""The families of edits, by the kind of node that each is asked about."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from grader.explain.rewriting.edit import Draft
from grader.explain.rewriting.missing import (
    forgotten,
    handed_on,
    insertions,
    transplants,
    written_out,
)
from grader.explain.rewriting.program.setting import Setting
from grader.explain.rewriting.replaced import (
    arguments,
    axes,
    calls,
    constants,
    entries,
    members,
    names,
    neighbours,
    nesting,
    operators,
    slices,
    statements,
)

Family = Callable[[Setting, Any], Iterator[Draft]]
OF_VALUES: tuple[Family, ...] = (
    operators.tests,
    insertions.factors,
    forgotten.values,
    forgotten.conditions,
    transplants.transplanted,
    transplants.callables,
    transplants.with_unread,
)
FAMILIES: dict[type[ast.AST], tuple[Family, ...]] = {
    ast.Constant: (
        constants.constants,
        entries.patterns,
        names.instead_of_constants,
        forgotten.values,
        written_out.literals,
        constants.other_words,
    ),
    ast.UnaryOp: (
        constants.negatives,
        operators.signs,
        names.instead_of_constants,
    ),
    ast.BinOp: (
        operators.operations,
        nesting.widened,
    ),
    ast.Compare: (operators.comparisons,),
    ast.BoolOp: (operators.logic,),
    ast.IfExp: (operators.choices, nesting.choices),
    ast.Name: (
        names.variables,
        names.targets,
    ),
    ast.Attribute: (
        members.of_instances,
        constants.attributes,
        names.variables,
        axes.untransposed,
        members.attributes,
    ),
    ast.Call: (
        calls.functions,
        calls.dropped,
        calls.options,
        arguments.arguments,
        axes.turned,
        axes.split,
        forgotten.options,
        handed_on.arguments,
        arguments.strides,
        nesting.signs,
        members.cut_out,
        slices.mirrored,
        neighbours.elements,
        names.instead_of_sizes,
    ),
    ast.Tuple: (
        arguments.elements,
        nesting.signs,
        entries.dropped,
        neighbours.elements,
    ),
    ast.List: (
        arguments.elements,
        nesting.signs,
        entries.dropped,
        neighbours.elements,
    ),
    ast.JoinedStr: (entries.patterns,),
    ast.Dict: (arguments.entries,),
    ast.Slice: (slices.slices,),
    ast.Subscript: (
        slices.indices,
        names.instead_of_sizes,
        members.entries,
        written_out.elements,
    ),
    ast.AugAssign: (
        statements.statements,
        statements.names_exchanged,
        names.likes,
    ),
    ast.Assign: (
        statements.steps,
        forgotten.defaults,
        statements.statements,
        names.renamed,
        statements.assignments,
        statements.names_exchanged,
        entries.on_both_sides,
        neighbours.statements,
        names.likes,
    ),
    ast.Expr: (
        statements.statements,
        statements.results,
        neighbours.statements,
    ),
    ast.Return: (
        statements.steps,
        statements.names_exchanged,
        names.likes,
    ),
}
