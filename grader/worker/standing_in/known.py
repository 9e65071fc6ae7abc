"""Packages that programs of this kind commonly import, by the names that imports have."""

from __future__ import annotations

KNOWN_PACKAGES = frozenset({
    "accelerate", "apex", "bitsandbytes", "black", "cv2", "datasets", "debugpy", "deepspeed",
    "einx", "evaluate", "fire", "flash_attn", "ftfy", "huggingface_hub", "hydra", "ipdb",
    "ipykernel", "IPython", "jax", "joblib", "keras", "line_profiler", "loguru", "matplotlib",
    "memory_profiler", "nltk", "numba", "omegaconf", "pandas", "PIL", "plotly", "psutil",
    "pydantic", "regex", "requests", "rich", "safetensors", "scipy", "seaborn", "sentencepiece",
    "sklearn", "submitit", "tensorboard", "tensorboardX", "tensorflow", "tiktoken", "tokenizers",
    "torchaudio", "torchinfo", "torchtext", "torchvision", "tqdm", "transformers", "triton",
    "typer", "wandb", "xformers", "yaml"
})  # fmt: skip
