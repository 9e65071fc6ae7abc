"""What of a GPU a worker may reach: its device files, and what the driver tells of itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

# Those that NVIDIA's container toolkit gives to a container.
_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia[0-9]*")
_TOLD = ("/proc/driver/nvidia", "/proc/devices", "/sys/module/nvidia", "/sys/bus/pci/devices")


def device_files(device: str) -> list[Path]:
    """The files through which a process computes on the device; none for the CPU."""
    return list(_found(device, Path("/dev"), _DEVICES))


def driver_files(device: str) -> list[Path]:
    """What CUDA reads before it computes; nothing for the CPU."""
    return [Path(path) for path in _TOLD] if is_cuda(device) else []


def _found(device: str, folder: Path, patterns: Iterable[str]) -> Iterable[Path]:
    if is_cuda(device):
        for pattern in patterns:
            yield from sorted(folder.glob(pattern))


def is_cuda(device: str) -> bool:
    """Whether a device, as torch names it, is a GPU."""
    return device.partition(":")[0] == "cuda"
