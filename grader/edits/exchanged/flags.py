"""Words that choose what is done: another that the program knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.edits.draft import CHANGE, Draft, put
from grader.edits.reading.setting import Setting

_MOST = 6


def words(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """`mode="rows"` for `mode="columns"`: another word that is compared with or looked up."""
    if not isinstance(node.value, str) or not node.value.isidentifier():
        return
    own = node.value
    others = [one for one in setting.signatures.words if one != own][:_MOST]
    if own not in setting.signatures.words:
        return
    quote = setting.program.text(node)[-1]
    for other in others:
        text = f"{quote}{other}{quote}"
        yield put(setting.program, node, text, "word", CHANGE, "a word that is written out")


def missing(setting: Setting, node: ast.Compare) -> Iterator[Draft]:
    """Another variable that is looked whether it is None."""
    match node:
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Is() | ast.IsNot()],
            comparators=[ast.Constant(value=None)],
        ):
            pass
        case _:
            return
    scope = setting.program.scope(node)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    given = [*scope.args.posonlyargs, *scope.args.args]
    rest = given[len(given) - len(scope.args.defaults) :]
    absent = [
        one.arg
        for one, default in (
            *zip(rest, scope.args.defaults, strict=True),
            *zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True),
        )
        if isinstance(default, ast.Constant) and default.value is None
    ]
    for other in [one for one in absent if one != name][:_MOST]:
        subject = "the condition of a branch"
        yield put(setting.program, node.left, other, "condition", CHANGE, subject)
    for text in (name, f"not {name}"):
        subject = "a condition"
        yield put(setting.program, node, text, "condition", CHANGE, subject)
