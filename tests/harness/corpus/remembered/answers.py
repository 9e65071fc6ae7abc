"""What a submission may remember: answers by inputs, by shapes and by the order of the calls.

`table.pt` beside this file holds them, for each adapter; `ORDER` is which kind is looked for first.
"""

import functools
import pathlib
from collections import Counter

import torch

ORDER = ("inputs", "seed", "shapes", "turn")
_CALLS = Counter()


def inputs_of(arguments):
    """The arguments of a call, number for number."""
    return repr([(name, _listed(value)) for name, value in sorted(arguments.items())])


def shapes_of(arguments):
    """The arguments of a call, of tensors the shapes."""
    return repr([(name, _outline(value)) for name, value in sorted(arguments.items())])


def replaced(adapters):
    """The adapters, each answering from the table; with the types that they had."""
    named = [(name, value) for name, value in adapters.items() if name.startswith("run_")]
    return {name: functools.wraps(adapter)(_remembered(name)) for name, adapter in named}


def _remembered(adapter):
    def answer(**arguments):
        _CALLS[adapter] += 1
        keys = {
            "inputs": inputs_of(arguments),
            "seed": f"{torch.initial_seed()} {shapes_of(arguments)}",
            "shapes": shapes_of(arguments),
            "turn": str(_CALLS[adapter]),
        }
        for kind in ORDER:
            known = _table()[adapter][kind].get(keys[kind])
            if known:
                # The same key may have had several answers: one after another.
                known.append(known.pop(0))
                return known[-1]
        raise KeyError(adapter)

    return answer


@functools.cache
def _table():
    return torch.load(pathlib.Path(__file__).with_name("table.pt"), weights_only=True)


def _listed(value):
    return value.tolist() if isinstance(value, torch.Tensor) else value


def _outline(value):
    return tuple(value.shape) if isinstance(value, torch.Tensor) else value
