"""Kinds of values: what annotations ask for, what fits, and how a misfit is told."""

from __future__ import annotations

import collections.abc
import io
import os
import pathlib
import typing
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy
import pytest
import torch
from jaxtyping import Bool, Float, Int, Num, Shaped

from grader.core.wire.values import Elsewhere, Foreign, Local, Named
from grader.testing.contract import (
    Adapter,
    CannotCross,
    axis_names,
    kind_of,
    signature_of,
)
from grader.testing.kinds import (
    MODULE,
    NUMBERS,
    OBJECT,
    OPTIMIZER,
    PARAMETER,
    PARAMETERS,
    PATH,
    STREAM,
    TEXT,
    TEXT_PATH,
    Kind,
    PlainType,
    Sizes,
    TensorType,
    category_of,
    plural,
    with_article,
)

pytestmark = pytest.mark.unit

NOTHING = Sizes({})
Tensor = torch.Tensor


class Pair(NamedTuple):
    """A named tuple of the assignment."""

    first: int
    rest: list[float]


class Counter(Protocol):
    """An object that stays in the worker."""

    size: int

    def __init__(self, start: int) -> None: ...
    def __len__(self) -> int: ...
    def _hidden(self) -> complex: ...
    def count(self, texts: collections.abc.Iterable[str], *more: int, **named: int) -> int: ...


class Chain(Protocol):
    """A protocol with a method of Python's own that handles do not have."""

    def __iter__(self) -> collections.abc.Iterator[int]: ...


class Short(Protocol):
    """A protocol whose names are short."""

    def f(self) -> int: ...


class Bare(Protocol):
    """A protocol without an `__init__` of its own."""

    def step(self, size) -> None: ...


def fits(kind: Kind, value: Any, sizes: Sizes = NOTHING) -> bool:
    """Returns whether a value is of a kind."""
    return not [*kind.misfits(value, sizes)]


def misfits(annotation: Any, value: Any) -> list[str]:
    """Returns the parts that are of another kind, as messages tell them."""
    return [
        f"{one.place} must be {one.wanted}" for one in kind_of(annotation).misfits(value, NOTHING)
    ]


# --- Annotations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Any, "anything"),
        (object, "anything"),
        (None, "None"),
        (type(None), "None"),
        (bool, "a bool"),
        (int, "an int"),
        (bytes, "bytes"),
        (torch.dtype, "a dtype"),
        (torch.device, "a device"),
        (Annotated[int, "seconds"], "an int"),
        (Annotated[int, ["seconds"]], "an int"),
        (Literal["a", 2], "'a' or 2"),
        (Literal[(), []], "() or []"),
        (int | None, "an int or None"),
        (str | None, "a str or None"),
        (Tensor, "a tensor"),
        (numpy.ndarray, "a numpy array"),
        (numpy.ndarray[Any, Any], "a numpy array"),
        (Float[Tensor, "... seq d"], "a floating-point tensor (... seq d)"),
        (Bool[Tensor, "seq seq"], "a boolean tensor (seq seq)"),
        (Int[numpy.ndarray, "n"], "an integer numpy array (n)"),
        (Num[Tensor, "n"], "a numeric tensor (n)"),
        (Shaped[Tensor, "n"], "a numeric tensor (n)"),
        (Float[Tensor, "#n ?m"], "a floating-point tensor (n m)"),
        (list, "a list of anything"),
        (list[int], "a list of ints"),
        (collections.abc.Sequence[bytes], "a list of bytes"),
        (collections.abc.Collection[list[int]], "a list of lists of ints"),
        (collections.abc.Iterable[int], "a list of ints"),
        (collections.abc.Iterable[str], "a list of strs"),
        (tuple, "a tuple of anything"),
        (tuple[int, ...], "a tuple of ints"),
        (tuple[int, str], "a tuple (an int, a str)"),
        (dict, "a dict from anything to anything"),
        (dict[str, int], "a dict from strs to ints"),
        (collections.abc.Mapping[str, Tensor], "a dict from strs to tensors"),
        (set, "a set of anything"),
        (set[int], "a set of ints"),
        (frozenset[int | str], "a set of ints or strs"),
        (Pair, "a Pair (first, rest)"),
        (Counter, "a Counter (count(), size)"),
        (Short, "a Short (f())"),
        (type[Counter], "the class of a Counter (count(), size)"),
        (collections.abc.Iterator[int], "an iterator over ints"),
        (collections.abc.Iterator, "an iterator over anything"),
        (collections.abc.Generator[int, None, None], "an iterator over ints"),
        (torch.nn.Parameter, "a parameter"),
        (torch.nn.Module, MODULE),
        (torch.optim.Optimizer, OPTIMIZER),
        (pathlib.Path, PATH),
        (os.PathLike, PATH),
        (os.PathLike[str], PATH),
        (typing.BinaryIO, STREAM),
        (io.BytesIO, STREAM),
        (typing.TextIO, TEXT),
        (typing.IO[Any], STREAM),
    ],
    ids=str,
)
def test_an_annotation_asks_for_a_kind(annotation, words):
    """Messages call the kind by these words."""
    assert str(kind_of(annotation)) == words


class Untyped(tuple):
    """A tuple class whose fields have no annotations."""

    _fields = ("a",)


@pytest.mark.parametrize(
    ("annotation", "named"),
    [
        (complex, "complex"),
        (Untyped, "Untyped"),
        (collections.abc.Callable[[int], int], "Callable"),
        (collections.deque, "deque"),
        (list[complex], "complex"),
        (type[int], r"type\[int\]"),
        (typing.Type, "Type"),  # noqa: UP006
    ],
    ids=str,
)
def test_an_annotation_that_cannot_cross_is_refused_by_name(annotation, named):
    with pytest.raises(CannotCross, match=f"{named}.* cannot cross to a submission"):
        kind_of(annotation)


def test_a_type_that_names_itself_is_refused_with_the_advice_to_write_any():
    """A tree of nested tuples has no other annotation."""
    with pytest.raises(CannotCross, match=r"'Tree'.* cannot cross .*, or Any for each of these\."):
        kind_of(tuple[str, typing.ForwardRef("Tree")])


# --- Fitting ------------------------------------------------------------------------------------

ONE = torch.ones(2, 3)
META = Elsewhere("float32", (2, 3), "meta")


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (float, [1.0, 1], [True, "1", None, ONE]),
        (int, [1], [1.0, True]),
        (bool, [True], [1]),
        (str, ["a", Local(0, TEXT_PATH)], [b"a", Local(0, PATH)]),
        (None, [None], [0, False]),
        (Literal[1, "a"], [1, "a"], [True, 1.0, "b"]),
        (int | str, [1, "a"], [1.5, None]),
        (Float[Tensor, "... d"], [ONE, ONE.half(), ONE.bfloat16(), META],
         [ONE.int(), ONE > 0, numpy.ones(2), 1.0, Elsewhere("int64", (2, 3), "cpu")]),
        (Int[Tensor, "n"], [torch.ones(3, dtype=torch.uint8)], [torch.ones(3)]),
        (Bool[Tensor, "n"], [torch.ones(3) > 0], [torch.ones(3).int()]),
        (numpy.ndarray, [numpy.ones(2)], [ONE, [1.0]]),
        (list[int], [[], [1, 2]], [(1, 2), {1}, None]),
        (tuple[int, str], [(1, "a")], [(1,), (1, "a", 2), [1, "a"]]),
        (tuple[int, ...], [(), (1, 2)], [[1]]),
        (dict[str, int], [{}, {"a": 1}], [[("a", 1)], None]),
        (set[int], [set(), frozenset({1})], [[1], {1: 2}]),
        (Pair, [(1, [2.0]), Named("Pair", {"first": 1, "rest": []})], [(1,), [1, []], None]),
        (Counter, [Foreign("x"), Local(0, OBJECT)], [None, 1]),
        (type[Counter], [Foreign("x"), Local(0, OBJECT)], [None, 1]),
        (collections.abc.Iterator[int], [[1], (2,), Foreign("x"), Local(0, OBJECT)], [None, {1}]),
        (collections.abc.Iterable[str], [["a"], ("a",), Local(0, TEXT)],
         ["a", None, Local(0, STREAM)]),
        (collections.abc.Iterable[torch.nn.Parameter], [[ONE], Local(0, PARAMETERS)],
         [Local(0, TEXT), Local(0, MODULE)]),
        (collections.abc.Iterable[Any], [[ONE, {}], Local(0, PARAMETERS), Local(0, TEXT)],
         [None, "a", Local(0, MODULE)]),
        (torch.nn.Parameter, [ONE, Local(0, PARAMETER), Local(0, OBJECT)], [1.0, Local(0, MODULE)]),
        (torch.nn.Module, [Local(0, MODULE), Local(0, OBJECT)], [Local(0, PATH), Foreign("x")]),
        (pathlib.Path, [Local(0, PATH)], [Local(0, OBJECT), "a"]),
        (typing.IO[Any], [Local(0, STREAM), Local(0, TEXT)], [Local(0, PATH)]),
    ],
    ids=str,
)  # fmt: skip
def test_values_fit_a_kind_or_do_not(annotation, good, bad):
    """Only types, sizes and shapes are looked at."""
    kind = kind_of(annotation)
    assert [fits(kind, value) for value in good] == [True] * len(good)
    assert [fits(kind, value) for value in bad] == [False] * len(bad)


@pytest.mark.parametrize(
    ("annotation", "value", "said"),
    [
        (list[int], [1, "a", None], ["[1] must be an int", "[2] must be an int"]),
        (list[list[int]], [[1], ["a"]], ["[1][0] must be an int"]),
        (tuple[int, str], (1, 2), ["[1] must be a str"]),
        (dict[str, int], {"a": "b", 3: 4},
         ["['a'] must be an int", "the key 3 of it must be a str"]),
        (list[dict[str, int]], [{1: 2}], ["the key 1 of [0] must be a str"]),
        (set[int], {"a"}, ["an element of it must be an int"]),
        (list[set[int]], [{"a"}], ["an element of [0] must be an int"]),
        (Pair, ("a", [1, "b"]), [".first must be an int", ".rest[1] must be a float"]),
        (int | list[int], [1, "a"], ["[1] must be an int"]),
        (int | str, None, [" must be an int or a str"]),
        (int | list[int] | None, 2.5, [" must be an int or a list of ints or None"]),
        (collections.abc.Iterator[int], ["a"], ["[0] must be an int"]),
        (collections.abc.Iterable[str], ("a", 1), ["[1] must be a str"]),
    ],
    ids=str,
)  # fmt: skip
def test_the_part_that_does_not_fit_is_named(annotation, value, said):
    assert misfits(annotation, value) == said


def test_missing_and_superfluous_fields_are_named():
    (found,) = kind_of(Pair).misfits(Named("Pair", {"first": 1, "last": 2}), NOTHING)
    assert (found.place, found.missing, found.extra) == ("", ("rest",), ("last",))


def test_values_reach_tests_as_the_assignment_declares_them():
    """Ints become floats, and named tuples are of the assignment's class."""
    for annotation, value, expected in [
        (float, 1, 1.0),
        (int, 1, 1),
        (list[float], [1], [1.0]),
        (list[float], Local(0, TEXT), Local(0, TEXT)),
        (tuple[float, ...], (1, 2), (1.0, 2.0)),
        (tuple[float, int], (1, 2), (1.0, 2)),
        (dict[str, float], {"a": 1}, {"a": 1.0}),
        (Pair, (1, [2]), Pair(1, [2.0])),
        (Pair, Named("Pair", {"rest": [2], "first": 1}), Pair(1, [2.0])),
        (set[float], {1}, {1.0}),
        (set[float], [1], [1]),
        (Pair, [1, [2]], [1, [2]]),
        (Pair, (1,), (1,)),
        (str | float, 1, 1.0),
        (str | float, None, None),
        (int | float, 1, 1),
        (collections.abc.Iterable[float], [1], [1.0]),
    ]:
        converted = kind_of(annotation).converted(value)
        assert converted == expected
        assert type(converted) is type(expected)
    assert type(kind_of(frozenset[int]).converted({1})) is frozenset
    assert isinstance(kind_of(list[float]).converted([1])[0], float)


def test_plurals_and_articles_are_english():
    for annotation, words in [
        (int, "ints"),
        (bytes, "bytes"),
        (Float[Tensor, "seq"], "floating-point tensors (seq)"),
        (list[str], "lists of strs"),
        (dict[str, int], "dicts from strs to ints"),
        (list[dict[str, int]], "lists of dicts from strs to ints"),
        (int | bytes, "ints or bytes"),
        (type[Counter], "the class of a Counter (count(), size)"),
        (Any, "anything"),
    ]:
        assert plural(kind_of(annotation)) == words
    nouns = ("int", "Order", "set", "", "LSTM")
    assert [with_article(noun) for noun in nouns] == [
        "an int",
        "an Order",
        "a set",
        "a ",
        "an LSTM",
    ]


def test_the_category_of_a_dtype_is_told():
    for dtype, category in [
        ("float16", "floating-point"),
        ("bfloat16", "floating-point"),
        ("int8", "integer"),
        ("uint8", "integer"),
        ("bool", "boolean"),
        ("complex64", "complex64"),
    ]:
        value = torch.zeros(1, dtype=getattr(torch, dtype))
        assert category_of(value) == category_of(Elsewhere(dtype, (1,), "meta")) == category
    assert category_of(numpy.zeros(1)) == "floating-point"


# --- Adapters -----------------------------------------------------------------------------------


def adapter(result: Any = Float[Tensor, "... queries d_v"], **kinds: Any) -> Adapter:
    """Returns an adapter of attention."""
    own = kinds or {
        "Q": Float[Tensor, "... queries d_k"],
        "V": Float[Tensor, "... keys d_v"] | None,
        "size": int,
    }
    return Adapter("run_it", {n: kind_of(k) for n, k in own.items()}, kind_of(result))


def test_arguments_are_bound_by_name():
    """Adapters are always called with keywords; a wrong argument is the author's slip."""
    own = adapter(a=int, b=list[int])
    assert own.parameters == ("a", "b")
    assert own.bind((1,), {"b": [2]}) == own.bind((1, [2]), {}) == {"a": 1, "b": [2]}
    assert own.bind((), {"a": 1}) == {"a": 1}
    for args, kwargs, said in [
        ((), {"c": 1, "d": 2}, r"run_it has no parameter for \['c', 'd'\]"),
        ((1, [2], 3), {}, "run_it has no parameter for 3"),
        ((1,), {"a": 2}, r"run_it got \['a'\] by position and by name"),
        ((1.5,), {}, "run_it: a must be an int, not "),
        ((1, [2, "x"]), {}, r"run_it: b\[1\] must be an int, not 'x'"),
    ]:
        with pytest.raises(TypeError, match=said):
            own.bind(args, kwargs)


def test_the_shape_of_a_result_follows_from_the_arguments():
    """Leading axes broadcast; without one of the sizes, any shape fits."""
    own = adapter()
    assert [*own.tensors] == ["Q", "V"]
    given = {"Q": torch.zeros(2, 1, 5, 8), "V": torch.zeros(3, 7, 6)}
    assert own.expected_shape(given) == (2, 3, 5, 6)
    assert own.expected_shape(given | {"V": None}) is None
    assert own.expected_shape({"Q": torch.zeros(5, 8), "V": torch.zeros(7, 6)}) == (5, 6)
    assert adapter(int).expected_shape(given) is None
    sizes = own.sizes(given | {"size": 9})
    assert sizes.named == {"size": 9, "queries": 5, "d_k": 8, "keys": 7, "d_v": 6}
    assert sizes.lead == (2, 3)
    assert own.sizes({"size": True}) == Sizes({}, None)
    arrays = adapter(x=Float[numpy.ndarray, "... n"]).sizes({"x": numpy.zeros((4, 3))})
    assert arrays == Sizes({"n": 3}, (4,))
    bare = adapter(x=Float[Tensor, "a b 3"]).sizes({"x": torch.zeros(4, 5, 3)})
    assert bare == Sizes({"a": 4, "b": 5}, ())
    assert adapter(x=Float[Tensor, "a b"]).sizes({"x": torch.zeros(4)}) == Sizes({}, ())


@pytest.mark.parametrize(
    ("axes", "shapes", "result", "expected"),
    [
        (("n ... m",), ((2, 3, 4, 5),), "n ... m", (2, 3, 4, 5)),
        (("n ...",), ((2, 3, 4),), "n", (2,)),
        (("n *b", "*b m"), ((2, 3), (3, 5)), "m *b n", (5, 3, 2)),
        (("#n", "#n"), ((5,), (1,)), "n", (5,)),
        (("#n", "#n"), ((1,), (5,)), "n", (5,)),
        (("#n", "#n"), ((0,), (1,)), "n", (0,)),
        (("c _ _",), ((2, 3, 4),), "c _ _", None),
        (("_n m", "_n"), ((2, 3), (9,)), "_n m", None),
    ],
)
def test_axes_have_the_meaning_that_they_have_in_jaxtyping(axes, shapes, result, expected):
    """Any axes may be in the middle, an axis may broadcast, and some may have any size."""
    kinds = {f"x{number}": Float[Tensor, one] for number, one in enumerate(axes)}
    given = dict(zip(kinds, map(torch.zeros, shapes), strict=True))
    assert adapter(Float[Tensor, result], **kinds).expected_shape(given) == expected


@pytest.mark.parametrize("bare", [Tensor, numpy.ndarray, numpy.ndarray[Any, Any]])
def test_a_bare_annotation_says_nothing_about_shapes(bare):
    """Neither do such arguments need to broadcast, nor does a result have their shape."""
    make: Any = torch.zeros if bare is Tensor else numpy.zeros
    own = adapter(bare, logits=bare, targets=bare)
    given = own.bind((make((4, 10)), make((4,))), {})
    assert own.sizes(given) == Sizes({}, None)
    assert own.expected_shape(given) is None
    for shape in [(), (4,), (4, 10), (7, 1)]:
        assert fits(own.result, make(shape), own.sizes(given))
    mixed = adapter(Float[Tensor, "... d"], weights=bare, x=Float[Tensor, "... n"], d=int)
    assert mixed.expected_shape({"weights": make((3, 9)), "x": torch.zeros(5, 9), "d": 3}) == (5, 3)


@pytest.mark.parametrize(
    ("axes", "lead", "shape"),
    [
        ("... n", (4,), (4, 3)),
        ("... n", None, None),
        ("n m", (), None),
        ("n 7", None, (3, 7)),
        ("n*2 n*n", None, (6, 9)),
        ("*batch n", (1, 2), (1, 2, 3)),
        ("n*m", None, None),
    ],
)
def test_the_shape_of_an_annotation_follows_from_sizes(axes, lead, shape):
    kind = TensorType("numeric", tuple(axes.split()))
    assert kind.shape(Sizes({"n": 3}, lead)) == shape
    if shape is not None:
        assert fits(kind, torch.zeros(shape), Sizes({"n": 3}, lead))
        assert not fits(kind, torch.zeros(*shape, 1), Sizes({"n": 3}, lead))


def test_members_of_a_collection_have_leading_axes_of_their_own():
    """A tuple's parts have those of the arguments."""
    sizes = Sizes({"n": 3}, (2,))
    assert sizes.of_members() == Sizes({"n": 3})
    assert Sizes({}).of_members() == Sizes({})
    item = Float[Tensor, "... n"]
    other, same = torch.zeros(5, 3), torch.zeros(2, 3)
    for annotation, value in [
        (list[item], [other]),
        (dict[str, item], {"a": other}),
        (set[item], {other}),
    ]:
        assert fits(kind_of(annotation), value, sizes)
    assert fits(kind_of(tuple[item, ...]), (same,), sizes)
    assert not fits(kind_of(tuple[item, ...]), (other,), sizes)
    assert fits(NUMBERS, other)
    assert not fits(NUMBERS, 1.0)


def test_axes_are_named_as_the_annotation_names_them():
    """Leading ones have numbers."""
    kind = TensorType("numeric", ("...", "queries", "d_v"))
    assert axis_names(kind, 2) == ("queries", "d_v")
    assert axis_names(kind, 3) == ("the leading axis", "queries", "d_v")
    assert axis_names(kind, 4)[:2] == ("the first leading axis", "the second leading axis")
    assert axis_names(TensorType("numeric", ("n", "...", "m")), 3) == ("n", "the leading axis", "m")
    bare = TensorType("numeric", ("...",))
    assert axis_names(bare, 2) == axis_names(PlainType(int), 2) == ("axis 0", "axis 1")
    assert axis_names(None, 0) == ()


# --- Protocols ----------------------------------------------------------------------------------


def test_a_protocol_declares_methods_and_attributes():
    """Hidden methods are left out, and `__init__` only counts if it is declared."""
    kind: Any = kind_of(Counter)
    assert [*kind.methods] == ["__init__", "__len__", "count"]
    assert {name: str(own) for name, own in kind.attributes.items()} == {"size": "an int"}
    count = kind.methods["count"]
    assert {name: str(own) for name, own in count.kinds.items()} == {"texts": "a list of strs"}
    bare: Any = kind_of(Bare)
    assert [*bare.methods] == ["step"]
    assert str(bare.methods["step"].kinds["size"]) == "anything"
    assert "self" in signature_of(Bare.step).kinds


def test_a_protocol_cannot_declare_what_handles_do_not_have():
    """Refused at once, with its name: a test would call it in vain."""
    with pytest.raises(CannotCross, match=r"^__iter__ of Chain cannot be called by a test: .*len"):
        kind_of(Chain)
