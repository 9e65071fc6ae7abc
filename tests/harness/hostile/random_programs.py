"""Random programs that nobody would write; a seed always gives the same program.

Each is a right program (`inner.py`) behind adapters that fail in odd ways: strange answers,
strange exceptions, slow steps, deep structures. Code around them has odd scopes and names. The
judge must survive each program, and grade it.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.harness.corpus.programs import texts

STYLES = ("matmul", "terse", "einsum")
ADAPTERS = (
    "run_softmax", "run_simple_self_attention", "run_self_attention", "run_causal_mask",
    "run_attention_weights", "run_attention_dropout", "run_scaled_dot_product_attention",
    "run_causal_self_attention", "run_multihead_attention_stacked", "run_multihead_self_attention",
    "run_multihead_attention", "run_sinusoidal_positional_encoding", "run_rope",
    "run_multihead_self_attention_with_rope", "run_parameter_count",
)  # fmt: skip
PREAMBLE = """\
import os, sys, warnings
import numpy, torch
import inner

class Sub(torch.Tensor):
    pass

class Rude:
    def __eq__(self, other): raise RuntimeError("rude")
    __hash__ = None
    def __repr__(self): raise RuntimeError("rude")
    def __getattr__(self, name): raise RuntimeError(name)

def nested(depth, end=1):
    for _ in range(depth):
        end = [end]
    return end

def deep(depth):
    return depth and deep(depth - 1)

def chain(number):
    end = ValueError("first")
    for place in range(number):
        later = ValueError(str(place))
        later.__cause__ = end if place % 2 else None
        later.__context__ = end
        end = later
    return end

def grouped(depth):
    end = ValueError("innermost")
    for _ in range(depth):
        end = ExceptionGroup("g", [end, KeyError(1)])
    return end

def flood(r, times):
    flat = r.detach().reshape(-1)
    for _ in range(times):
        flat = flat[torch.randperm(flat.numel())]
    return r

def folders(depth, name="d"):
    before = os.open(".", os.O_RDONLY)
    os.chdir(os.environ.get("TMPDIR", "."))
    try:
        for _ in range(depth):
            os.mkdir(name)
            os.chdir(name)
    except OSError:
        pass
    os.fchdir(before)

def written(name, mode=0o600):
    place = os.path.join(os.environ.get("TMPDIR", "."), name)
    try:
        os.mkdir(place, mode) if name.endswith("/") else os.close(os.open(place, 65, mode))
    except (OSError, ValueError):
        pass
"""
# Expressions that an adapter returns instead of `r`, the right result; `t` is always a tensor.
ANSWERS = (
    *(f"t.to(torch.{dtype})" for dtype in (
        "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
        "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32",
        "uint64", "quint8", "complex32",
    )),
    "None", "True", "0", "-1", "10**18", "2**63", "10**5000", "float('nan')", "1e400", "-0.0",
    "'x' * 10**6", "'\\udcff\\x00\\x1b[31m'", "b'bytes'", "...", "NotImplemented", "torch", "sys",
    "Rude()", "lambda: r", "type", "(r, r)", "[r]", "{'r': r}", "{1, 2}", "range(10**12)",
    "iter([])",
    "(t for _ in [1])", "t.tolist()", "t.detach().numpy()", "numpy.float64(3)", "numpy.array('x')",
    "nested(10**4)", "nested(10**5, t)", "(nested(10**4),) * 100", "[t] * 10**5", "t.shape",
    "torch.empty(0)", "torch.zeros(0, 10**6)", "torch.zeros([1] * 60)", "torch.zeros([2] * 6)",
    "torch.tensor(3)", "torch.tensor(float('inf'))", "torch.zeros(1 << 22)", "torch.zeros(1 << 26)",
    "torch.zeros(1 << 14, 1 << 12, dtype=torch.int8)", "torch.zeros(1).expand(1 << 40)",
    "torch.zeros(1).expand(2, 3, 1 << 20)", "t.unsqueeze(0)", "t.flatten()", "t[..., :0]", "t[0:0]",
    "t.squeeze()", "t.transpose(0, -1)", "t.flip(0)", "t.as_strided(t.shape, [0] * t.dim())",
    "t.float() * float('nan')", "t.float() / 0", "t.float() * 1e38 * 10", "t.float() + 1e-6",
    "t.float().masked_fill(torch.rand(t.shape) < 0.1, float('nan'))", "t * 1.5", "t + 1", "-t",
    "t * 0",
    "t.requires_grad_()", "torch.nn.Parameter(t.float())", "t.as_subclass(Sub)", "t.to_sparse()",
    "t.to('meta')", "torch.quantize_per_tensor(t.float(), 0.1, 0, torch.quint8)", "t.to_mkldnn()",
    "torch.nested.nested_tensor([t.float()])", "t.float()._neg_view()",
    "torch.complex(t.float(), t.float()).conj()", "torch.complex(t.float(), t.float()).real",
    "torch._efficientzerotensor(t.shape)", "torch.randn(t.shape)", "torch.empty(t.shape)",
    "torch.func.vmap(lambda x: x)(t)", "torch.nn.Linear(2, 2)", "torch.Size([2, 3])",
    "torch.float32",
    "t.untyped_storage()", "torch.Generator()", "t.detach().clone().resize_(7)",
    "t.float().clone().set_()",
    "torch.tensor([], dtype=torch.int64).reshape(0, 3, 0)", "inner", "__builtins__", "globals()",
)  # fmt: skip
# Expressions that an adapter raises.
RAISED = (
    "ValueError()", "ValueError('x' * 10**7)", "ValueError('\\udcff\\x00\\x1b[2J' * 50)",
    "KeyError(t)", "KeyError(Rude())", "ValueError(Rude())", "OSError(28, 'No space left')",
    "MemoryError()", "RecursionError()", "StopIteration(t)", "GeneratorExit()",
    "KeyboardInterrupt()",
    "SystemExit(0)", "SystemExit(t)", "BaseException('base')", "AssertionError()",
    "ImportError('torch')",
    "ModuleNotFoundError('no', name='x' * 10**4)", "NotImplementedError()",
    "NameError('n', name='\\n')",
    "AttributeError('a', name='b' * 10**5, obj=Rude())",
    "SyntaxError('s', ('f', 10**9, -5, 'text', 0, 0))",
    "SyntaxError('s', ('f', 2**70, 2**70, 't' * 10**5))",
    "UnicodeDecodeError('x', b'y', 0, 10**9, 'z')",
    "chain(1000)", "grouped(200)", "grouped(3000)", "ExceptionGroup('g', [ValueError()] * 10**4)",
    "BaseExceptionGroup('g', [SystemExit()])", "type('E' * 10**5, (Exception,), {})('x')",
    "type('\\x1b[31m\\n', (Exception,), {})()",
    "type('E', (Exception,), {'__str__': lambda s: 5})()",
    "type('E', (Exception,), {'__str__': lambda s: 'x' * 10**7})()",
    "type('E', (Exception,), {'__module__': Rude()})()",
    "type('E', (ValueError, KeyError), {})(1, 2)",
    "type('E', (Exception,), {'__class__': property(lambda s: 1 / 0)})()",
    "torch.OutOfMemoryError()",
    "warnings.catch_warnings()", "5", "Rude", "ConnectionResetError()", "TimeoutError('t')",
    "EOFError()",
    "RuntimeError('mat1 and mat2 shapes cannot be multiplied (' + '9' * 4000 + 'x1 and 2x2)')",
    "RuntimeError('The size of tensor a (3) must match the size of tensor b (99999999) at')",
    "TypeError('f() got an unexpected keyword argument ' + repr('k' * 10**4))",
)  # fmt: skip
# Statements that an adapter runs before it answers.
DONE = (
    "deep(900)", "try:\n    deep(10**6)\nexcept RecursionError:\n    pass", "folders(300)",
    "folders(40, 'd' * 200)", "folders(1500)", "written('grader-99999999999999999999-x/')",
    "written('closed/', 0)", "written('\\n\\x1b.py')", "written('\\udcff')", "written('x' * 255)",
    "print('\\x1b[2J' * 1000)", "print('x' * 10**6)",
    "sys.stdout.buffer.write(b'\\xff\\xfe' * 1000)",
    "print('\\ud800')", "sys.stdout.close()", "sys.stderr = None", "sys.stdout = Rude()",
    "os.close(1)",
    "warnings.warn('w' * 10**5)", "sys.setrecursionlimit(10**5)", "sys.setrecursionlimit(60)",
    "torch.set_default_dtype(torch.float64)", "torch.set_default_device('meta')",
    "torch.manual_seed(0)",
    "torch.set_grad_enabled(False)", "torch.use_deterministic_algorithms(True)", "os.chdir('/')",
    "a[next(iter(a))] = None", "[v.zero_() for v in a.values() if isinstance(v, torch.Tensor)]",
    "[v.resize_(0) for v in a.values() if isinstance(v, torch.Tensor)]", "sys.settrace(None)",
    "sys.settrace(lambda *_: 1 / 0)", "sys.modules.clear()", "del torch.Tensor.__eq__",
    "x = nested(10**5)",
    "import gc; gc.disable(); x = [[]]; x[0].append(x)", "sys.path[:] = []", "os.environ.clear()",
)  # fmt: skip
# Steps that are slow to explain: many records, many axes, right numbers in wrong places.
SLOW = (
    "flood(t.float(), 1900)",
    "flood(inner.run_softmax(in_features=torch.randn(2, 3, 4, 5, 6), dim=-1), 1000)",
    "[t.float().unsqueeze(-1).expand(*t.shape, 2).clone() for _ in range(500)]",
    "[t.float().reshape([1] * 20 + list(t.shape)) + 0 for _ in range(1000)]",
    "[torch.zeros([2] * 14) + n for n in range(200)]",
    "[torch.tensor(float(n)) for n in range(3000)]",
    "[flood(v.float(), 200) for v in a.values() if isinstance(v, torch.Tensor)]",
    "[torch.full((8,) * 5, float('nan')) * n for n in range(40)]",
    "[int(n) for n in torch.arange(3000)]",
)
HEADS = (
    "def {n}({m}={e}):", "async def {n}(*{m}, **kw_{k}):", "class {n}:", "class {n}(object):",
    "if {e}:", "for {n} in [{e}]:", "while not {e}:", "with warnings.catch_warnings() as {n}:",
    "try:", "match {e}:\n    case {m}:", "def {n}({m}: {e} = 1, /, *, z{k}=2) -> {e}:",
    "@(lambda f: f)\ndef {n}():", "for {n}, *{m} in [[1, 2, 3]]:",
)  # fmt: skip
SIMPLE = (
    "{n} = {e}", "{n}: int = {e}", "({n} := {e})", "{n} = {m} = {e}",
    "import torch.nn.functional as {n}",
    "from torch.nn import functional as {n}, MultiheadAttention as {m}", "pass",
    "{n} = torch.nn.functional",
    "{n} = lambda {m}={e}: {m}", "{n} = [{m} for {m} in [{e}] if {m}]",
    "{n} = {{{m}: {m} for {m} in [1]}}",
    "{n} = (x for x in [{e}])", "{n} = {e}; del {n}", "assert {e}", "'''{n}'''",
    "{n} = f\"{{{e}}}\"",
    "{n} = getattr(torch.nn, 'MultiheadAttention', None)",
    "{n} = torch.nn.functional.scaled_dot_product_attention",
    "{n} = (lambda: [(y := x) for x in [1]])", "({n}) = ({m}) = 1", "{n} = 1 if {e} else 2",
    "{n} = not {e}",
)  # fmt: skip
EXPRESSIONS = (
    "1", "torch", "torch.nn", "None", "[]", "(lambda: 1)", "(1, 2)", "'text'", "inner",
    "__name__", "1j",
    "torch.nn.functional", "(lambda q: (lambda k: q))(1)", "len", "...", "{1: 2}", "1_000",
    "0x1f", "b''",
)  # fmt: skip
NAMES = (
    "x", "_", "__", "match", "case", "type", "self", "cls", "torch_",
    "scaled_dot_product_attention",
    "MultiheadAttention", "naïve", "ﬁne", "Ω", "变量", "__private", "__dunder__", "print", "len",
    "l" * 300,
    "functional", "F", "nn", "softmax", "𝔘𝔫𝔦", "ª",
)  # fmt: skip


FILES = (
    "notes.txt", "a" * 200 + ".py", "naïve ﬁle.py", "d/" * 20 + "m.py", "d/" * 30 + "m.py",
    "x\n.py",
    "tests/conftest.py", "setup.py", "pyproject.toml", "setup.cfg", "torch.py.txt", "inner/m.py",
)  # fmt: skip


def program(seed: int) -> dict[str, str]:
    """Returns the files of a seed's program by name."""
    chance = random.Random(f"random program {seed}")
    adapters = [PREAMBLE, *(_oddity(chance) for _ in range(chance.choice([0, 1, 2, 4])))]
    rate = chance.choice([0.15, 0.5, 0.9])
    for name in ADAPTERS:
        kind = _adapter if chance.random() < rate else _right
        adapters.append(kind(chance, name))
    files = {"inner.py": texts(chance.choice(STYLES))["adapters.py"]}
    files["adapters.py"] = "\n\n".join(adapters) + "\n"
    for _ in range(chance.choice([0, 0, 1, 3])):
        name = chance.choice(FILES)
        files[name] = _oddity(chance)
    return files


def write(folder: Path, seed: int) -> Path:
    """Writes a seed's program into a new folder."""
    for name, text in program(seed).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder


def _right(_chance: random.Random, name: str) -> str:
    return f"{name} = inner.{name}"


def _adapter(chance: random.Random, name: str) -> str:
    """Returns an adapter that fails at every call, or at some."""
    body = [f"r = inner.{name}(**a)", "t = r if isinstance(r, torch.Tensor) else torch.tensor(r)"]
    kind = chance.randrange(10)
    if kind in (0, 1):
        body.append(chance.choice(DONE))
    if kind in (2, 3):
        body.append(chance.choice(SLOW))
    if chance.random() < 0.2:
        body.append("if torch.rand(()) < 0.5: return r")
    if kind in (4, 5):
        body.append(f"raise {chance.choice(RAISED)}")
    elif kind == 6:
        return ""
    else:
        body.append(f"return {chance.choice(ANSWERS) if chance.random() < 0.8 else 'r'}")
    text = textwrap.indent("\n".join(body), "    ")
    return f"def {name}(**a):\n{text}"


def _oddity(chance: random.Random) -> str:
    """Returns code without a purpose."""
    kinds: Sequence[Callable[[random.Random], str]] = (
        _scopes, _scopes, _scopes, _dotted, _lambdas, _chained, _names, _deep_text, _forbidden
    )  # fmt: skip
    return chance.choice(kinds)(chance)


def _scopes(chance: random.Random) -> str:
    """Returns nested scopes in a `try` statement that catches their exceptions."""
    lines = _block(chance, chance.choice([3, 6, 12, 17]))
    return "try:\n" + textwrap.indent(lines, " ") + "\nexcept Exception:\n pass"


def _block(chance: random.Random, depth: int) -> str:
    filled = _filled(chance)
    lines = [filled(chance.choice(SIMPLE)) for _ in range(chance.choice([1, 1, 3]))]
    if depth:
        head = filled(chance.choice(HEADS))
        indent = " " * (8 if "case" in head else 1)
        lines += [head, textwrap.indent(_block(chance, depth - 1), indent)]
        if head.startswith("while"):
            lines.append(textwrap.indent("break", indent))
        if head == "try:":
            lines.append(chance.choice(["except* ValueError:\n pass", "finally:\n pass",
                                        "except (KeyError, Exception) as e:\n pass"]))  # fmt: skip
    return "\n".join(lines)


def _filled(chance: random.Random) -> Callable[[str], str]:
    def filled(text: str) -> str:
        return text.format(
            n=chance.choice(NAMES),
            m=chance.choice(NAMES) + "2",
            e=chance.choice(EXPRESSIONS),
            k=chance.randrange(100),
        )

    return filled


def _dotted(chance: random.Random) -> str:
    name = ".".join(["torch", *["nn"] * chance.choice([3, 300, 5000])])
    ends = ("scaled_dot_product_attention", "MultiheadAttention", "x")
    what = chance.choice([f"import {name}", f"from {name} import {chance.choice(ends)}",
                          f"{name}.{chance.choice(ends)}"])  # fmt: skip
    return f"def never():\n    {what}"


def _lambdas(chance: random.Random) -> str:
    depth = chance.choice([5, 90, 900])
    return "f = " + "lambda: " * depth + "torch.nn.functional.scaled_dot_product_attention"


def _chained(chance: random.Random) -> str:
    count = chance.choice([10, 1000, 4000])
    lines = [f"    c{n} = c{n + 1}" for n in range(count)]
    return "\n".join(["def never():", *lines, "    return c0.scaled_dot_product_attention"])


def _names(chance: random.Random) -> str:
    long = chance.choice(["n", "ñ"]) * chance.choice([300, 10_000, 100_000])
    return f"{long} = torch.nn\n{long}.MultiheadAttention"


def _deep_text(chance: random.Random) -> str:
    depth = chance.choice([20, 60, 90])
    return "deepest = " + "[" * depth + "1" + "]" * depth + "\nnegative = " + "-" * depth + "1"


def _forbidden(chance: random.Random) -> str:
    call = "torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 2, 2)] * 3)"
    return chance.choice(["", "for _ in range(300):\n    "]) + call
