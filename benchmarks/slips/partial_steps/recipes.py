"""Which steps follow upon each other."""

from functools import partial

from pipeline import chain
from steps import ATTEND, merge, project, split


def single_chain(w_query, w_key, w_value, see):
    return chain(
        partial(project, name="q", weight=w_query),
        partial(project, name="k", weight=w_key),
        partial(project, name="v", weight=w_value),
        see,
        *ATTEND,
    )


def multihead_chain(weights, heads, see, between=()):
    before = []
    for name in ("q", "k", "v"):
        before.append(partial(project, name=name, weight=weights[name].mT))
        before.append(partial(split, name=name, heads=heads))
    after = [merge, partial(project, name="out", weight=weights["out"].mT)]
    return chain(*before, *between, see, *ATTEND, *after)
