"""Options and entries by name: under another name, of another thing, of a variable's name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.draft import CHANGE, SLIP, Draft, put
from grader.explain.rewriting.edit import Replacement
from grader.explain.rewriting.program.name_similarity import kinship, words
from grader.explain.rewriting.program.setting import Setting, callee
from grader.explain.rewriting.program.value_kinds import Nature

_MOST = 5
_MOST_LAYERS = 12
_OF_LAYERS = re.compile(r"((?:\w+\.)*)(\w+)(\.(?:weight|bias))")
_LIBRARY = {
    "alpha": "beta",
    "beta": "alpha",
    "min": "max",
    "max": "min",
    "start_dim": "end_dim",
    "end_dim": "start_dim",
}


def options(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """An argument under the name of another parameter."""
    given = {one.arg for one in node.keywords}
    signature = setting.signature(node)
    known = [] if signature is None else [*signature.positional, *signature.by_keyword]
    free = [one.name for one in known[len(node.args) :] if one.name not in given]
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        others = {one: CHANGE for one in free}
        if keyword.arg in _LIBRARY and signature is None:
            others[_LIBRARY[keyword.arg]] = SLIP
        start = setting.program.span(keyword).start
        for other, cost in list(others.items())[:_MOST]:
            piece = Replacement(start, start + len(keyword.arg), other)
            subject = f"the name of an option of `{callee(node)}`"
            yield Draft("option-name", cost, subject, node, (piece,), start)


def namesakes(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """`name=name` for `name="q"`, `largest=largest` for `largest=self.largest`."""
    visible = setting.seen.visible(node)
    for keyword in node.keywords:
        name, value = keyword.arg, keyword.value
        if name is None or name not in visible:
            continue
        is_word = isinstance(value, ast.Constant) and isinstance(value.value, str)
        if is_word or isinstance(value, ast.Attribute):
            subject = f"what `{callee(node)}` gets as `{name}`"
            draft = put(setting.program, value, name, "name", SLIP, subject)
            yield Draft("name", SLIP, subject, node, draft.pieces, draft.at, ("namesake", name))


def keyed_entries(setting: Setting, node: ast.Subscript) -> Iterator[Draft]:
    """`weights[name]` for `weights["q"]`, `options["theta"]` for `DEFAULTS["theta"]`."""
    key = node.slice
    if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
        return
    if not isinstance(node.ctx, ast.Load):
        return
    program = setting.program
    subject = f"an entry of `{program.text(node.value)}`"
    for name in setting.seen.loops(node)[:_MOST]:
        text = f"{program.text(node.value)}[{name}]"
        yield put(program, node, text, "entry", SLIP, subject, ("entry", program.text(key)))
    known = setting.seen.variables(node)
    held = [one for one in known if one.nature in (Nature.OTHER, Nature.TENSOR)]
    if not isinstance(node.value, ast.Name):
        return
    for one in [one.name for one in held if one.name != node.value.id][:_MOST]:
        subject = f"whose `{key.value}` is taken"
        yield put(program, node.value, one, "entry", CHANGE, subject, ("holder", node.value.id))


def forgotten(setting: Setting, node: ast.Dict) -> Iterator[Draft]:
    """`{"k": k, "theta": theta}` for `{"k": k}`: a variable under a key that is looked up."""
    if not node.keys or not node.values:
        return
    keys = {one.value for one in node.keys if isinstance(one, ast.Constant)}
    if not any(isinstance(one, str) for one in keys):
        return
    end = setting.program.outer_span(node.values[-1]).end
    for key in setting.signatures.words:
        names = [
            one.name
            for one in setting.seen.variables(node)
            if key not in keys and words(one.name)[-len(words(key)) :] == words(key)
        ]
        for name in names[:1]:
            piece = Replacement(end, end, f', "{key}": {name}')
            subject = "an entry that is missing"
            yield Draft("entry-added", CHANGE, subject, node, (piece,), end)


def states(setting: Setting, node: ast.Constant) -> Iterator[Draft]:
    """`"out.weight"` for `"proj.weight"`, as a layer is called whose weight is under no key."""
    written = _OF_LAYERS.fullmatch(node.value) if isinstance(node.value, str) else None
    if written is None:
        return
    before, own, after = written.groups()
    around = setting.program.text(setting.program.scope(node))
    known = [one for one in setting.signatures.attribute_names if one != own]
    free = [one for one in known if f"{before}{one}{after}" not in around]
    quote = setting.program.text(node)[-1]
    for other in sorted(free, key=lambda one: -kinship(own, one))[:_MOST_LAYERS]:
        text = f"{quote}{before}{other}{after}{quote}"
        cost = SLIP if kinship(own, other) else CHANGE
        yield put(setting.program, node, text, "word", cost, "the name under which a weight goes")


def callables(setting: Setting, node: ast.Call) -> Iterator[Draft]:
    """Another function of those that are handed over, where one is."""
    known = setting.seen.handed_over
    parts: list[tuple[str | int, ast.expr]] = [*enumerate(node.args)]
    parts += [(one.arg or "", one.value) for one in node.keywords]
    for place, part in parts:
        if not isinstance(part, ast.Name) or part.id not in known:
            continue
        own = callee(node)
        others = [one for one in known if one != part.id and one != own]
        like = known[part.id]
        others.sort(key=lambda one: (not (known[one] & like), one))
        for other in others[:_MOST]:
            cost = SLIP if known[other] & like else CHANGE
            subject = f"which function `{own}` gets"
            span = setting.program.span(part)
            piece = Replacement(span.start, span.end, other)
            yield Draft("function", cost, subject, node, (piece,), span.start, (place, part.id))
