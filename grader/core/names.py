"""Names: adapters, devices, packages and their absence; how people read and misspell names."""

from __future__ import annotations

import ast
import difflib
import os
import re
from collections.abc import Iterable, Sequence

# Torch's name of the device on which every machine computes.
CPU = "cpu"
_BEGINNINGS = ("run_", "get_")


def is_adapter(name: str) -> bool:
    """Returns whether a function of this name is an adapter, by its prefix `run_` or `get_`."""
    return name.startswith(_BEGINNINGS)


KNOWN_PACKAGES = frozenset({
    "accelerate", "apex", "bitsandbytes", "black", "colorama", "cv2", "datasets", "debugpy",
    "deepspeed", "einx", "equinox", "evaluate", "fire", "flash_attn", "flax", "ftfy",
    "huggingface_hub", "humanize", "hydra", "icecream", "ipdb", "ipykernel", "IPython", "jax",
    "joblib", "keras", "lightning", "line_profiler", "loguru", "matplotlib", "memory_profiler",
    "mlflow", "nltk", "numba", "nvtx", "omegaconf", "optax", "orjson", "pandas", "PIL", "plotly",
    "polars", "psutil", "pyarrow", "pydantic", "ray", "regex", "requests", "rich", "safetensors",
    "scipy", "seaborn", "sentencepiece", "sklearn", "structlog", "submitit", "tabulate",
    "tensorboard", "tensorboardX", "tensorflow", "termcolor", "tiktoken", "tokenizers",
    "torchaudio", "torchinfo", "torchmetrics", "torchtext", "torchvision", "tqdm", "transformers",
    "triton", "typer", "tyro", "ujson", "viztracer", "wandb", "xformers", "yaml", "zstandard"
})  # fmt: skip

# Packages that only display or log something: their stubs do all that matters.
SILENT = frozenset({"tqdm", "wandb", "loguru", "structlog", "tensorboard", "tensorboardX"})

_OF_ABSENCE = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")


def expects_absence(node: ast.Try | ast.With) -> bool:
    """Returns whether a `try` catches, or a `with` suppresses, the error of an absent package."""
    if isinstance(node, ast.Try):
        return any(
            handler.type is None or _names_absence(handler.type) for handler in node.handlers
        )
    for item in node.items:
        match item.context_expr:
            case ast.Call(func=ast.Name("suppress") | ast.Attribute(attr="suppress"), args=kinds):
                return any(map(_names_absence, kinds))
    return False


def _names_absence(caught: ast.expr) -> bool:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(one, ast.Name) and one.id in _OF_ABSENCE for one in kinds)


# Characters without ink: fillers, joiners, variation selectors, the empty Braille pattern.
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_LONGEST = 120  # characters of one name in a sentence


def printable(name: str) -> str:
    """Returns the name with control and invisible characters and invalid UTF-8 escaped."""
    if name.isprintable() and not INVISIBLE.search(name):
        return name
    seen = (char.isprintable() and not INVISIBLE.match(char) for char in name)
    return "".join(c if is_seen else _escaped(c) for c, is_seen in zip(name, seen, strict=True))


def shortened(name: str) -> str:
    """Returns the printable name, without its middle if it is very long."""
    text = printable(name)
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}…{text[-half:]}"


def natural_order(name: str) -> tuple[tuple[int, int, str], ...]:
    """Returns a sort key that puts `group2` before `group10`."""
    pieces = re.split(r"([0-9]+)", name)
    return tuple(map(_in_order, filter(None, pieces)))


def several(names: Sequence[str], count: int | None = None, shown: int = 5) -> str:
    """Returns the first few names, and how many more there are of `count` (default: of `names`)."""
    more = (len(names) if count is None else count) - len(names[:shown])
    text = ", ".join(shortened(name) for name in names[:shown])
    return f"{text} and {more} more" if more > 0 else text


def _in_order(piece: str) -> tuple[int, int, str]:
    """Returns a sort key; a number sorts by its digits, which may be too many for `int()`."""
    if not piece.isdecimal():
        return 1, 0, piece.casefold()
    digits = piece.lstrip("0")
    return 0, len(digits), digits


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


# The likeness from which a name may be a misspelling of another one, as `difflib` measures it.
_ALIKE = 0.65


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the known name that is most like `name`; "" if none is near.

    A prefix that all names share does not count.
    """
    names = [*known]
    shared = os.path.commonprefix([name, *names]).rfind("_") + 1  # noqa: RUF071  of letters
    ends = {one[shared:].casefold(): one for one in names}
    found = difflib.get_close_matches(name[shared:].casefold(), ends, 1, _ALIKE)
    return ends[found[0]] if found else ""


def meant(name: str, known: Iterable[str]) -> str:
    """Returns a question for the nearest known name, or else a list of all known names."""
    names = [str(one) for one in known]
    near = nearest(name, names)
    return f"did you mean {near}?" if near else f"there is {', '.join(names) or 'none yet'}"
