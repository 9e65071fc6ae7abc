"""Ten submissions in the shape of real repositories of a language-model course.

All of them are one right program (`lm/`), each under a name of its own, with what such repositories
import at their tops and have beside it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PROGRAM = Path(__file__).with_name("lm")
_NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": ["import pandas\n", "def run_softmax(x):\n", "    raise ValueError\n"],
        }
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@dataclass(frozen=True)
class Repository:
    """What makes one differ from the others.

    `tops` stand at the top of modules of the package; `files` lie beside it, with `PACKAGE` for its
    name; `below` is the folder that holds the package.
    """

    package: str
    tops: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    below: str = "."
    adapters: str = ""


REPOSITORIES = {
    "with-metadata": Repository(
        "cs_basics",
        {"ops": "import regex as re\nimport einx\nfrom einx import rearrange as put"},
        {
            "pyproject.toml": """
                [project]
                name = "cs-basics"
                version = "1.0.4"
                requires-python = ">=3.11"
                dependencies = ["einops>=0.8", "einx>=0.3", "regex>=2024.11.6", "torch~=2.6"]
                [build-system]
                requires = ["hatchling"]
                build-backend = "hatchling.build"
                """,
            "PACKAGE/__init__.py": """
                import importlib.metadata
                __version__ = importlib.metadata.version("cs-basics")
                """,
        },
    ),
    "src-layout": Repository(
        "transformer_from_scratch",
        {"layers": "from jax import jit\nimport jax.numpy as jnp"},
        {
            "pyproject.toml": '[project]\nname = "transformer-from-scratch"\nversion = "0.1"\n',
            "src/PACKAGE/fast.py": """
                import jax
                @jax.jit
                def scores(q, k):
                    return jax.numpy.einsum("id,jd->ij", q, k)
                """,
        },
        below="src",
        adapters="from PACKAGE.fast import scores",
    ),
    "no-metadata": Repository(
        "tinylm",
        {},
        {
            "PACKAGE/__init__.py": """
                from importlib.metadata import version
                __version__ = version("tinylm")
                """,
            "PACKAGE/transformer.py": "",
            "PACKAGE/dataset.py": "",
            "requirements.txt": "torch\nregex\ntransformers==4.44.0  # the tokenizer\n",
        },
        # Names that are like their own: transformer.py, tokenizer.py, dataset.py.
        adapters="import tokenizers, datasets\nfrom transformers import AutoTokenizer, GPT2Config",
    ),
    "with-pools": Repository(
        "bpe_lm",
        {
            "tokenizer": """
                import regex
                from tqdm.auto import tqdm
                """
        },
        {
            "PACKAGE/vocabulary.py": """
                from PACKAGE.tokenizer import count_words, tqdm, train
                TEXT = "low lower lowest newer wider " * 40
                VOCAB, MERGES = train(TEXT, 256 + 12, ["<|endoftext|>"], workers=32)
                COUNTS = [count_words(part) for part in tqdm([TEXT] * 4)]
                assert len(VOCAB) == 268 and len(MERGES) == 11 and len(COUNTS) == 4
                """
        },
        adapters="from PACKAGE.vocabulary import MERGES, VOCAB",
    ),
    "with-logs": Repository(
        "my_gpt",
        {
            "layers": """
                import wandb
                from loguru import logger
                from tqdm import tqdm
                logger.remove()
                logger.add("train.log", rotation="10 MB")
                run = wandb.init(project="lm", mode="disabled")
                logger.info("layers {}", run.id)
                """
        },
    ),
    "script-at-import": Repository(
        "scratchlm",
        {},
        {
            "PACKAGE/train.py": """
                import argparse
                import torch
                from torch.utils.tensorboard import SummaryWriter
                from PACKAGE.layers import TransformerLM
                from PACKAGE.ops import cross_entropy
                parser = argparse.ArgumentParser()
                parser.add_argument("--steps", type=int, default=2)
                has_gpu = torch.cuda.is_available()
                parser.add_argument("--device", default="cuda" if has_gpu else "cpu")
                args = parser.parse_args()
                writer = SummaryWriter("runs")
                model = TransformerLM(20, 8, 8, 1, 2, 16, 1e4).to(args.device)
                optimizer = torch.optim.AdamW(model.parameters())
                for step in range(args.steps):
                    ids = torch.randint(20, (2, 9), device=args.device)
                    loss = cross_entropy(model(ids[:, :-1]), ids[:, 1:])
                    loss.backward()
                    optimizer.step()
                    writer.add_scalar("loss", loss.item(), step)
                    print(f"step {step}: {loss.item():.3f}", end="\\r", flush=True)
                """
        },
        adapters="import PACKAGE.train",
    ),
    "with-notebooks": Repository(
        "llm_hw1",
        {"ops": "import matplotlib.pyplot as plt\nimport seaborn as sns\nsns.set()"},
        {
            "explore.ipynb": json.dumps(_NOTEBOOK),
            "notebooks/plots.ipynb": json.dumps(_NOTEBOOK),
            "environment.yml": "dependencies:\n  - python=3.11\n  - pip:\n    - seaborn\n",
            "PACKAGE/debug.py": """
                import os
                import debugpy
                if os.environ.get("DEBUG"):
                    debugpy.listen(5678)
                    debugpy.wait_for_client()
                """,
        },
        adapters="import PACKAGE.debug",
    ),
    "with-fixtures": Repository(
        "basics",
        {},
        {
            "tests/__init__.py": "",
            "tests/conftest.py": "import pytest, numpy_snapshots\n",
            "tests/fixtures/corpus.en": "some text\n",
            "tests/test_model.py": "from .adapters import run_softmax\n",
        },
        adapters="""
            from tests.common import FIXTURES_PATH
            from .common import FIXTURES_PATH as SAME
            with open("tests/fixtures/corpus.en") as corpus:
                assert (FIXTURES_PATH / "corpus.en").read_text() == corpus.read()
            """,
    ),
    "path-changed": Repository(
        "code_of_mine",
        {"ops": "import line_profiler\nprofile = line_profiler.LineProfiler()"},
        {},
        below="hw1",
        adapters="""
            import sys, pathlib
            sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "hw1"))
            """,
    ),
    "on-a-gpu": Repository(
        "kernels_lm",
        {
            "layers": """
                import triton
                import triton.language as tl
                @triton.jit
                def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
                    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                def train(model, device="cuda", amp=True):
                    model.to(device)
                """
        },
        {
            "PACKAGE/loose.py": """
                import torch
                def load(model, weights, device="mps"):
                    weights["extra"] = torch.zeros(1)
                    return model.load_state_dict(weights, strict=False)
                """,
            "setup.py": "from setuptools import setup\nsetup(name='kernels-lm', version='0.0.1')\n",
        },
        adapters="from PACKAGE.loose import load",
    ),
}


def build(name: str, folder: Path) -> Path:
    """Writes one of the repositories into a folder; where it lies."""
    repository = REPOSITORIES[name]
    root = folder / name
    program = {path: path.read_text() for path in sorted(_PROGRAM.rglob("*.py"))}
    for path, text in program.items():
        place = path.relative_to(_PROGRAM)
        if place.parts[0] == "tests":
            top = repository.adapters if place.stem == "adapters" else ""
        else:
            top = repository.tops.get(place.stem, "")
            place = Path(repository.below, repository.package, place)
        _write(root / place, _with_top(text, top), repository.package)
    _write(root / repository.below / repository.package / "__init__.py", "", "")
    for file, text in repository.files.items():
        file = file.replace("PACKAGE", repository.package)
        _write(root / file, textwrap.dedent(text), repository.package)
    _write(root / "README.md", "# Assignment 1\n", "")
    return root


def _with_top(text: str, top: str) -> str:
    future = "from __future__ import annotations\n"
    rest = text.removeprefix(future)
    return f"{future if rest != text else ''}{textwrap.dedent(top).strip()}\n{rest}"


def _write(path: Path, text: str, package: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("PACKAGE", package))
