"""Names that trusted and untrusted code share: adapters, devices, packages that courses use."""

from __future__ import annotations

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

# Packages that only display or log something.
SILENT = ("tqdm", "wandb", "loguru", "structlog", "tensorboard", "tensorboardX")
# Packages whose stubs do all that matters.
DO_WITHOUT = frozenset({*SILENT, "joblib"})
