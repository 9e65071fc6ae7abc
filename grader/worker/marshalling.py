"""Turns values from the judge into arguments of a submission, and its results into values.

It also makes the objects that tests need beside a submission, and reads them afterwards. These are
torch's parameters, modules and optimizers, and files in a folder of their own.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import math
import os
import shutil
import stat
import tempfile
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy
import torch

from grader.core.wire.scripts import GIVEN, module_of
from grader.core.wire.tensors import MAX_AXES, MAX_PAYLOAD, NAMES
from grader.core.wire.value_tree import ARRAY_DTYPES, MAX_DEPTH, is_int64
from grader.core.wire.values import Elsewhere, Foreign, Named, Value, mapped
from grader.worker.observing.expression import foreign

_TOO_DEEP = Foreign(f"something in more than {MAX_DEPTH} others")
_LEFT_OUT = Foreign("one value more than may be handed over")
MAX_VALUES = 100_000
_LONGEST = 40


def arrived(value: Value, device: str = "cpu") -> Any:
    """Returns a value as a submission gets it: tensors on `device`, named tuples rebuilt."""

    def put(one: Any) -> Any:
        return one.to(device) if isinstance(one, torch.Tensor) and device != "cpu" else one

    return _with_fields(mapped(value, _once_a_tensor(put)))


def _once_a_tensor(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns a function that changes each tensor once, wherever it stands in a value."""
    changed: dict[int, Any] = {}

    def once(one: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return change(one)
        if id(one) not in changed:
            changed[id(one)] = change(one)
        return changed[id(one)]

    return once


def _with_fields(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_fields(own) for key, own in value.items()}
    if isinstance(value, Named):
        made: Callable[..., Any] = namedtuple(value.name, value.fields)  # type: ignore[misc]
        return made(*map(_with_fields, value.fields.values()))
    if isinstance(value, list | tuple):
        return type(value)(map(_with_fields, value))
    return value


def portable(result: object, device: str = "cpu", may_be_on_cpu: bool = False) -> Value:
    """Returns a result in a form that can cross to the judge: plain data, or a description.

    A tensor crosses only from the `device` of the call. With `may_be_on_cpu`, because no input of
    the call is a tensor, it also crosses from the CPU.
    """
    handing = _HandingOver(device, may_be_on_cpu)
    value = handing.value(result, 0)
    if handing.left < 0:  # values had to be left out
        kind = type(result).__name__[:_LONGEST]
        return Foreign(f"a {kind} of more than {MAX_VALUES} values, too large to be an answer")
    return value


class _HandingOver:
    """The conversion of one result, which stops at the bounds of an answer."""

    def __init__(self, device: str, may_be_on_cpu: bool) -> None:
        self._kinds = {device.partition(":")[0], *(["cpu"] if may_be_on_cpu else [])} - {"meta"}
        self.left = MAX_VALUES
        self._bytes = MAX_PAYLOAD

    def value(self, result: object, depth: int) -> Value:
        self.left -= 1
        if depth >= MAX_DEPTH or self.left < 0:
            return _TOO_DEEP if depth >= MAX_DEPTH else _LEFT_OUT
        if result.__class__ is not type(result):
            return foreign(result)  # it only claims to be of a type below
        if isinstance(result, numpy.generic):
            result = result.item()
            if not isinstance(result, bool | int | float | str | bytes | None):
                return foreign(result)
        # An object whose class inherits from a plain type crosses as the plain value.
        match result:
            case None | bool():
                return result
            case int():
                whole = int.__int__(result)
                return whole if is_int64(whole) else Foreign("an int of more than 64 bits")
            case float():
                return float.__float__(result)
            case str():
                return self._of_length("text", str.__str__(result))
            case bytes():
                return self._of_length("bytes", bytes.__bytes__(result))
            case torch.Tensor():
                return self._tensor(result)
            case numpy.ndarray():
                return self._array(result)
            case torch.dtype():
                return result if result in NAMES else foreign(result)
            case torch.device() | Named():
                return result
            case dict():
                pairs = dict.items(result)
                return {self._key(key, depth + 1): self.value(own, depth + 1) for key, own in pairs}
            case tuple() if (fields := _fields_of(result)) is not None:
                values = zip(map(str, fields), self._each(result, depth), strict=False)
                return Named(type(result).__name__, dict(values))
            case list():
                return list(self._each(result, depth))
            case tuple():
                return tuple(self._each(result, depth))
            case set() | frozenset():
                kind = set if isinstance(result, set) else frozenset
                return kind(self._key(one, depth + 1) for one in result)
        return foreign(result)

    def _of_length(self, kind: str, result: str | bytes) -> Value:
        self._bytes -= len(result)
        if self._bytes < 0:
            return Foreign(f"{kind} of length {len(result)}, too large to be an answer")
        return result

    def _each(self, values: Iterable[object], depth: int) -> Iterable[Value]:
        for value in values:
            yield self.value(value, depth + 1)
            if self.left < 0:
                return

    def _key(self, key: object, depth: int) -> Any:
        """Returns a key as it crosses, or a description if that form cannot be hashed."""
        value = self.value(key, depth)
        try:
            hash(value)
        except TypeError:
            return foreign(key)
        return value

    def _tensor(self, tensor: torch.Tensor) -> Value:
        with torch._C.DisableTorchFunctionSubclass():
            shape, kind = tuple(tensor.shape), tensor.device.type
            if len(shape) > MAX_AXES:
                return Foreign(f"a tensor of {len(shape)} axes")
            if kind not in self._kinds:
                if max(shape, default=0) > MAX_PAYLOAD:
                    return Foreign(f"a tensor of shape {list(shape)}, on {tensor.device}")
                dtype = str(tensor.dtype).removeprefix("torch.")
                return Elsewhere(dtype, shape, str(tensor.device))
            if tensor.layout is not torch.strided:
                return Foreign(f"a tensor of layout {tensor.layout}")
            if tensor.dtype not in NAMES:
                return Foreign(f"a tensor of dtype {tensor.dtype}")
            self._bytes -= math.prod(size or 1 for size in shape) * tensor.element_size()
            if self._bytes < 0:
                return Foreign(f"a tensor of shape {list(shape)}, too large to be an answer")
            return tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()

    def _array(self, array: numpy.ndarray[Any, Any]) -> Value:
        dtype, shape = str(array.dtype), array.shape
        self._bytes -= math.prod(size or 1 for size in shape) * array.itemsize
        if dtype not in ARRAY_DTYPES or len(shape) > MAX_AXES or self._bytes < 0:
            return foreign(array)
        return numpy.ascontiguousarray(array).reshape(shape)


def _fields_of(result: tuple[object, ...]) -> tuple[object, ...] | None:
    """Returns the fields of a named tuple; a tuple with more elements than fields has none."""
    fields = getattr(result, "_fields", None)
    return fields if isinstance(fields, tuple) and len(fields) == tuple.__len__(result) else None


def differing(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
    """Returns the names whose values have changed."""
    return tuple(name for name, value in before.items() if not same_values(value, after[name]))


def copied(value: Any) -> Any:
    """Returns a copy that shares no tensor and no list with the value."""
    return mapped(value, _once_a_tensor(_copy))


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        twin = value.clone()
        is_laid_out = value.layout is torch.strided and value.numel() > 0
        return _in_layout_of(value) if is_laid_out and twin.stride() != value.stride() else twin
    return value.copy() if isinstance(value, numpy.ndarray | set) else value


def _in_layout_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy with the strides of a tensor: `clone` drops those with gaps or repetitions."""
    strides = tensor.stride()
    span = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, strides, strict=True))
    memory = tensor.as_strided((span,), (1,), tensor.storage_offset()).clone()
    return memory.as_strided(tensor.shape, strides)


def same_values(before: object, after: object) -> bool:
    """Returns whether two values are the same in every element."""
    if type(before) is not type(after):
        return False
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        return bool(((before == after) | (before.ne(before) & after.ne(after))).all())
    if isinstance(before, numpy.ndarray) and isinstance(after, numpy.ndarray):
        return before.shape == after.shape and before.tobytes() == after.tobytes()
    if isinstance(before, Named) and isinstance(after, Named):
        return before.name == after.name and same_values(dict(before.fields), dict(after.fields))
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after) and all(
            same_values(before[key], after[key]) for key in before
        )
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return len(before) == len(after) and all(map(same_values, before, after))
    # Only NaN differs from itself.
    return before is after or before == after or (before != before and after != after)


MAX_FILE = 32 << 20
# The step that copies a file for a process that has nothing else of the script.
ANEW = "anew"
# The answers in place of a file's content.
ABSENT, IRREGULAR, TOO_LARGE = "absent", "irregular", "too large"


class ScriptFiles:
    """The folder of one script's files, and the streams that are open on them."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._removal: Callable[[], object] | None = None
        self._streams: list[IO[Any]] = []
        self._numbers = itertools.count()

    def make(self, name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """Makes the object that a step asks for by this name."""
        self.flush()
        return _MAKERS[name](self, *positional, **keywords)

    def new_place(self, name: str) -> Path:
        """Returns a path that is unique in the script, in a folder that exists.

        The name may be a relative path.
        """
        if self._folder is None:
            # It lies in the job's scratch folder, which is removed even if the job is killed.
            self._folder = Path(tempfile.mkdtemp(prefix=GIVEN))
            self._removal = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        place = self._folder / str(next(self._numbers)) / name
        place.parent.mkdir(parents=True)
        return place

    def opened(self, stream: IO[Any]) -> IO[Any]:
        """Returns the same stream, which is flushed before its file is read."""
        self._streams.append(stream)
        return stream

    def flush(self) -> None:
        """Flushes all streams into their files."""
        for stream in self._streams:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()

    def close(self) -> None:
        """Closes the streams, and removes the folder as far as possible."""
        for stream in self._streams:
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        self._streams.clear()
        if self._removal is not None:
            self._removal()
        self._folder = self._removal = None


def _parameter(
    _shop: ScriptFiles, numbers: torch.Tensor, grad: torch.Tensor | None, requires_grad: bool
) -> torch.nn.Parameter:
    parameter = torch.nn.Parameter(numbers.clone(), requires_grad)
    parameter.grad = None if grad is None else grad.clone()
    return parameter


def _optimizer(
    _shop: ScriptFiles, name: str, parameters: Any, options: Mapping[str, Any]
) -> torch.optim.Optimizer:
    is_module = isinstance(parameters, torch.nn.Module)
    made: torch.optim.Optimizer = getattr(torch.optim, name)(
        parameters.parameters() if is_module else parameters, **options
    )
    return made


def _file(shop: ScriptFiles, name: str, content: bytes | None) -> Path:
    path = shop.new_place(name)
    if content is not None:
        path.write_bytes(content)
    return path


def _anew(shop: ScriptFiles, path: Path, name: str) -> Path:
    content = _content(shop, path)
    return _file(shop, name, content if isinstance(content, bytes) else None)


def _content(_shop: ScriptFiles, path: Path) -> bytes | str:
    """Returns the content of a file, or why there is none."""
    try:
        # A link or a pipe may be in the file's place: follow no link, wait for no writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        return IRREGULAR
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return IRREGULAR
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(MAX_FILE + 1)
    return content if len(content) <= MAX_FILE else TOO_LARGE


_MAKERS: Mapping[str, Callable[..., Any]] = {
    "parameter": _parameter,
    "module": lambda _shop, outline: module_of(outline),
    "optimizer": _optimizer,
    "file": _file,
    "as_str": lambda _shop, path: str(path),
    "as_stream": lambda shop, path: shop.opened(path.open("r+b" if path.exists() else "w+b")),
    "as_text": lambda shop, path: shop.opened(path.open(encoding="utf-8")),
    ANEW: _anew,
    "content": _content,
    "exists": lambda _shop, path: os.path.lexists(path),
}
