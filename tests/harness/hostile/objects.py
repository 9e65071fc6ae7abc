"""Bad objects and values that a function returns instead of the right result.

`right` is the right result. Each object must fail its own exercise, and nothing else.
"""

from __future__ import annotations

LIES = """
class Liar:
    def __getattr__(self, name): return Liar()
    def __call__(self, *_, **__): return Liar()
    def __iter__(self): return iter(Liar, None)
    def __eq__(self, _): return True
    def __hash__(self): return 1
    def __len__(self): return 3
    def __index__(self): return 9
    def __bool__(self): return True
class Forged:
    __class__ = dict
    def items(self): return [("a", 1)]
class Text(str):
    def __eq__(self, _): return True
    def __hash__(self): return 1
    def __str__(self): return Liar()
    def encode(self, *_): return b"lies"
class Whole(int):
    def __index__(self): return 7
    def __int__(self): return [1]
    def __eq__(self, _): return True
    def __hash__(self): return 1
class Table(dict):
    def items(self): return iter([("a", 1)])
    def __iter__(self): return iter(["a"])
    def __len__(self): return 10 ** 9
class Row(list):
    def __iter__(self): raise SystemExit
    def __len__(self): return -1
class Endless(list):
    def __iter__(self): return itertools.count()
class Pair(tuple):
    _fields = property(lambda self: 1 / 0)
class Picture(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *_, **__): return "lies"
def gone(error):
    yield 2
    raise error
"""
WALK = "import gc\n    for own in gc.get_objects():"
DEEP = "deep = []\n    for _ in range(100_000): deep = [deep]\n    "

# Objects that spoil the process for all later exercises.
SPOILERS = ("patches_carrying_out", "step_spoils_later")
OBJECTS = {
    # Methods and attributes
    "method_hangs": ("tokenizer", "right.encode = lambda text: next(iter(int, 1)); return right"),
    "method_loops": ("tokenizer", "def loop(_):\n        while True: pass\n    "
                                  "right.encode = loop; return right"),
    "method_exits": ("tokenizer", "right.encode = lambda _: sys.exit(0); return right"),
    "method_ends_worker": ("tokenizer", "right.encode = lambda _: os._exit(0); return right"),
    "method_raises_text": ("tokenizer", "right.decode = lambda _: (_ for _ in ()).throw("
                                        "KeyboardInterrupt('passed')); return right"),
    "answers_everything": ("tokenizer", "return Liar()"),
    "is_a_module": ("tokenizer", "return sys"),
    "attribute_changes_type": ("tokenizer", "TIMES = iter(['x', 9, None, 9.0] * 99)\n    "
                               "type(right).size = property(lambda self: next(TIMES))\n    "
                               "type(right).__setattr__ = lambda *_: None\n    return right"),
    "attribute_raises": ("tokenizer", "type(right).__getattribute__ = lambda *_: 1 / 0\n    "
                                      "return right"),
    "attribute_hangs": ("tokenizer", "type(right).__getattribute__ = lambda *_: time.sleep(99)\n"
                                     "    return right"),
    "class_forged": ("tokenizer", "return Forged()"),
    "patches_carrying_out": ("tokenizer", f"{WALK}\n        if type(own).__name__ == 'Living': "
                             "own.__class__.result = lambda *_, **__: None\n    return None"),
    "class_makes_others": ("optimizer_class", "return type('O', (), {'__new__': lambda *_, **__: "
                                              "Liar()})"),
    "class_of_lies": ("optimizer_class", "return Liar"),
    "step_spoils_later": ("optimizer_class", "right.step = lambda self: threading.Timer(0.01, "
                                             "os._exit, [0]).start(); return right"),
    # Iterators
    "iterator_hangs": ("primes", "return iter(lambda: time.sleep(99), 1)"),
    "iterator_of_nothing": ("primes", "return iter(())"),
    "iterator_of_itself": ("primes", "loop = []; loop.append(loop); return iter(loop)"),
    "iterator_of_giants": ("primes", "return (2 ** (1 << 20) for _ in itertools.count())"),
    "iterator_of_large_texts": ("primes", "return ('x' * (1 << 28) for _ in itertools.count())"),
    "iterator_exits": ("primes", "return gone(SystemExit(0))"),
    "iterator_is_interrupted": ("primes", "return gone(KeyboardInterrupt())"),
    "iterator_stops_oddly": ("primes", "return gone(StopIteration(1))"),
    "iterator_is_closed": ("primes", "return gone(GeneratorExit())"),
    "iterator_of_lies": ("primes", "return iter(Liar, None)"),
    "iterator_forges_numbers": ("primes", "return map(Whole, itertools.count(4))"),
    "iterator_changes_class": ("primes", "return (type('N', (int,), {})(4) for _ in range(9))"),
    # Values
    "dict_of_lies": ("counts", "return Table({'a': 'b'})"),
    "dict_of_odd_keys": ("counts", "return {Text(key): n for key, n in right.items()} | "
                                   "{Text('z'): 1}"),
    "dict_of_wire_words": ("counts", "return {'__kind__': 1, 'dict': 1, 'Foreign': 1}"),
    "dict_of_forged_numbers": ("counts", "return {key: Whole(n + 1) for key, n in right.items()}"),
    "dict_of_collided_keys": ("counts", "return {Whole(n): n for n in range(5)}"),
    "dict_that_grows": ("counts", "return {str(n): n for n in range(10 ** 6)}"),
    "dict_of_itself": ("counts", "right['x'] = right; return right"),
    "deep": ("counts", f"{DEEP}return deep"),
    "deep_in_a_dict": ("counts", f"{DEEP}return {{'a': deep}}"),
    "list_exits": ("tokens", "return Row(right[1:])"),
    "list_without_end": ("tokens", "return Endless(right[1:])"),
    "list_of_lies": ("tokens", "return [Liar()] * len(right)"),
    "list_of_tensors": ("tokens", "return [torch.ones(()).as_subclass(Picture)] * 3"),
    "tuple_raises": ("pairs", "return [Pair(pair[::-1]) for pair in right]"),
    "tensor_of_lies": ("pairs", "return torch.ones(3).as_subclass(Picture)"),
    "values_of_surrogates": ("counts", "return {'\\ud800': 1}"),
}  # fmt: skip
