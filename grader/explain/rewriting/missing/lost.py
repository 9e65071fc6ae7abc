"""Values that get lost: sums that start anew in a loop, overwritten names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.explain.rewriting.edit import CHANGE, Draft, Replacement
from grader.explain.rewriting.program.name_similarity import kinship
from grader.explain.rewriting.program.setting import Setting

_MOST = 3


def renamed(setting: Setting, node: ast.Assign) -> Iterator[Draft]:
    """Yields another name of a kin throughout a statement: `k = turn(k)` for `v = turn(v)`."""
    program = setting.program
    targets = {
        one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)
    }
    text = program.text(node)
    span = program.span(node)
    if "\n" in text:
        return
    names = setting.scopes.names(node)
    for name in sorted(targets):
        uses = len(re.findall(rf"\b{name}\b", text))
        others = [
            one
            for one in names.natures
            if kinship(name, one) == 2 and one != name and one not in targets
        ]
        for other in others[:_MOST] if uses > 1 else ():
            new = re.sub(rf"(?<!\.)\b{name}\b", other, text)
            piece = Replacement(span.start, span.end, new)
            subject = f"where `{name}` is used"
            yield Draft("name", CHANGE, subject, node, (piece,), span.start)
