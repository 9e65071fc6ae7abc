"""What a package is called where it is installed from, by the name that imports have."""

from __future__ import annotations

from grader.worker.stubs.known import KNOWN_PACKAGES

_OTHERWISE_CALLED = {
    "cv2": "opencv-python",
    "flash_attn": "flash-attn",
    "huggingface_hub": "huggingface-hub",
    "hydra": "hydra-core",
    "IPython": "ipython",
    "line_profiler": "line-profiler",
    "memory_profiler": "memory-profiler",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


def distribution_of(package: str) -> str | None:
    """The distribution that holds a well-known package; None of any other.

    What a stranger's file imports is no reason to install what happens to have that name.
    """
    if package not in KNOWN_PACKAGES:
        return None
    return _OTHERWISE_CALLED.get(package, package)
