"""Packages that programs of this kind commonly import, by the names that imports have."""

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

SILENT = ("tqdm", "wandb", "loguru", "structlog", "tensorboard", "tensorboardX")
"""Those that show or keep something for whoever looks on, and nothing else."""

ANNOTATING = {
    "jax": {"Array": type("Array", (), {"__module__": "jax"})},
    "jax.typing": {"ArrayLike": type("ArrayLike", (), {"__module__": "jax.typing"})},
}
"""Names that annotate, by their module: jaxtyping makes types of these, and wants classes."""

DO_WITHOUT = frozenset({*SILENT, "joblib"})
"""Those whose absence costs nobody anything: what stands in for them does all that matters."""
