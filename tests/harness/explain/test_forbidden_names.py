"""Forbidden names in a submission's source: found under any alias, without false alarms."""

import os
import textwrap
import time

import pytest

from grader.core.wire.calls import Use
from grader.explain.deadline import Deadline
from grader.explain.forbidden_names import find_mentions

pytestmark = pytest.mark.unit

FORBIDDEN = ("torch.nn.functional.scaled_dot_product_attention", "torch.nn.MultiheadAttention")


def mentioned(folder, source):
    """Returns the last part of each name found, with its line."""
    (folder / "model.py").write_text(textwrap.dedent(source))
    found = find_mentions(folder, FORBIDDEN)
    return [(use.name.rpartition(".")[2], use.line) for use in found]


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ny = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        "import torch.nn.functional\ny = torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        "import torch.nn.functional as F\ny = F.scaled_dot_product_attention(q, k, v)",
        "from torch.nn import functional as fn\ny = fn.scaled_dot_product_attention",
        "from torch import nn\ny = nn.functional.scaled_dot_product_attention(q, k, v)",
        "from torch.nn.functional import scaled_dot_product_attention as sdpa\nf(sdpa)",
        "from torch.nn.functional import *\ny = scaled_dot_product_attention(q, k, v)",
        "import torch.nn.functional as F\ny = getattr(F, 'scaled_dot_product_attention')(q, k, v)",
        "import torch; F = torch.nn.functional\ndef f(q):\n\n  F.scaled_dot_product_attention(q)",
        "def f(q):\n  import torch.nn.functional as F\n\n  F.scaled_dot_product_attention(q)",
        "import torch.nn as N\nclass A:\n  def f(self):\n    N.functional"
        ".scaled_dot_product_attention()",
        "try:\n  from torch.nn.functional import scaled_dot_product_attention as a\n"
        "except ImportError:\n  a = None; a()",
    ],
)
def test_a_name_is_found_in_the_source_under_any_alias(tmp_path, source):
    """Imports and plain assignments are followed; an import alone does not count as a use."""
    (found,) = mentioned(tmp_path, source)
    assert found == ("scaled_dot_product_attention", 2 if source.count("\n") == 1 else 4)


@pytest.mark.parametrize(
    "source",
    [
        "from torch.nn.functional import scaled_dot_product_attention",
        "def scaled_dot_product_attention(q): ...\nscaled_dot_product_attention(q)",
        "from torch.nn.functional import *\ndef scaled_dot_product_attention(q): ...\n"
        "scaled_dot_product_attention(q)",
        "try:\n  from torch.nn.functional import scaled_dot_product_attention as a\n"
        "except ImportError:\n  a = None",
        "from torch.nn.functional import scaled_dot_product_attention\n"
        "del scaled_dot_product_attention",
        "from .attention import scaled_dot_product_attention\nscaled_dot_product_attention(q)",
        "import attention as F\nF.scaled_dot_product_attention(q)",
        "import torch.nn.functional as F\ndef f(F):\n  F.scaled_dot_product_attention(q)",
        "import torch.nn.functional as F\ndef g(x):\n  F = x.shape[-1]\n"
        "def f(q):\n  F.scaled_dot_product_attention(q)",
        "# F.scaled_dot_product_attention\n'torch.nn.functional.scaled_dot_product_attention'",
        "F = F; F.scaled_dot_product_attention(q)",
        "import torch.nn.functional as F\nF.scaled_dot_product_attention(",
    ],
)
def test_names_that_only_resemble_a_forbidden_name_are_not_reported(tmp_path, source):
    """A student's own function may share a name with torch's. A false note is worse than none."""
    assert mentioned(tmp_path, source) == []


def test_a_forbidden_class_is_found_where_it_is_built_or_inherited_from(tmp_path):
    """Each line is reported, in order."""
    source = """
    from torch import nn
    class Mine(nn.MultiheadAttention):
        def __init__(self):
            self.inner = nn.MultiheadAttention(4, 1)
    """
    assert mentioned(tmp_path, source) == [("MultiheadAttention", 3), ("MultiheadAttention", 5)]


@pytest.mark.parametrize(
    "source",
    [
        b"\x00 torch.nn.MultiheadAttention",
        b"\xff\xfe torch.nn.MultiheadAttention",
        b"import torch\n" + b"(" * 5000 + b"torch.nn.MultiheadAttention",
        b"import torch\ntorch.nn" + b".MultiheadAttention" * 10000,
        b"import torch\n" + b"torch.nn.MultiheadAttention\n" * 100_000,
        b"a = b; b = a; " * 1000 + b"a.MultiheadAttention",
    ],
    ids=["null", "encoding", "parentheses", "dots", "long", "circle"],
)
def test_hostile_source_is_skipped(tmp_path, source):
    """The judge reads the source, and must neither hang nor crash."""
    (tmp_path / "model.py").write_bytes(source)
    (tmp_path / "other.py").write_text("import torch\ntorch.nn.MultiheadAttention(4, 1)\n")
    found = find_mentions(tmp_path, ["torch.nn.MultiheadAttention"])
    assert found == (Use("torch.nn.MultiheadAttention", "other.py", 2),)


def test_a_forbidden_package_is_found_by_its_own_name(tmp_path):
    """The forbidden name has no dot, and the import may name a submodule."""
    (tmp_path / "model.py").write_text("import numpy.linalg\n\nx = numpy\n")
    assert find_mentions(tmp_path, ("numpy",)) == (Use("numpy", "model.py", 3),)


NAME = "torch.nn.MultiheadAttention"
OWN = "class MultiheadAttention: ...\nx = self.MultiheadAttention\n"


def nested_functions(depth, innermost):
    """Returns nested functions with `innermost` in the last one."""
    heads = (f"{' ' * level}def f{level}():\n" for level in range(depth))
    return "".join(heads) + " " * depth + innermost


@pytest.mark.process(takes="a second")
@pytest.mark.parametrize(
    "source",
    [
        nested_functions(90, "return unknown.MultiheadAttention\n"),
        nested_functions(17, "return a.b.MultiheadAttention\n") + "a = b = c\n",
        "f = " + "lambda: " * 1400 + "unknown.MultiheadAttention",
        "f = " + "lambda: " * 1000 + "(" + "a.MultiheadAttention, " * 10_000 + ")",
        "".join(f"a{n} = a{n + 1}\n" for n in range(8000)) + "a0.MultiheadAttention",
        "a = " + "a = ".join(f"a{n}\n" for n in range(10_000)) + "a.MultiheadAttention",
        f"import {'m' * 100_000} as m\n" + "m.MultiheadAttention\n" * 7000,
        f"import {'m.' * 4500}m as m\n" + "m.MultiheadAttention\n" * 7000,
        f"from {'m' * 100_000} import {', '.join(f'a{n}' for n in range(9000))}\n" + OWN,
        "from torch.nn import *\n" * 9000 + OWN,
    ],
    ids=[
        "functions", "far", "lambdas", "wide", "chain", "again", "long", "dotted", "from", "stars"
    ],
)  # fmt: skip
def test_deep_or_wide_source_is_read_in_bounded_time(tmp_path, source):
    """Depths, lengths and counts are bounded, so that no product of them decides the time."""
    (tmp_path / "model.py").write_text(source)
    started = time.process_time()
    assert find_mentions(tmp_path, [NAME]) == ()
    assert time.process_time() - started < 5


def test_a_name_is_found_through_nested_scopes(tmp_path):
    """Programs that people write nest no deeper than this."""
    source = "from torch import nn\n" + nested_functions(20, "return nn.MultiheadAttention(4, 1)\n")
    (tmp_path / "model.py").write_text(source)
    assert find_mentions(tmp_path, [NAME]) == (Use(NAME, "model.py", 22),)


def test_paths_that_are_no_longer_files_are_skipped(tmp_path):
    """An unconfined worker may have replaced its source by a pipe."""
    os.mkfifo(tmp_path / "model.py")
    (tmp_path / "gone.py").symlink_to("nowhere")
    (tmp_path / "other.py").write_text("import torch\ntorch.nn.MultiheadAttention(4, 1)\n")
    assert find_mentions(tmp_path, [NAME]) == (Use(NAME, "other.py", 2),)


def test_the_search_for_forbidden_names_stops_at_its_deadline(tmp_path):
    """After the deadline the search stops, and reports fewer names."""
    (tmp_path / "model.py").write_text("import torch\ntorch.nn.MultiheadAttention(4, 1)\n")
    assert find_mentions(tmp_path, [NAME], Deadline.after(0)) == ()
