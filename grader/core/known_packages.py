"""Packages that courses of this field import, and what the absence of each costs."""

from __future__ import annotations

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

# They show or keep something for whoever looks on, and nothing else.
SILENT = ("tqdm", "wandb", "loguru", "structlog", "tensorboard", "tensorboardX")
# Their absence costs nothing: their stubs do all that matters.
DO_WITHOUT = frozenset({*SILENT, "joblib"})
