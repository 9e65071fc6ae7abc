"""What the samples share: where the secrets lie, how a frame looks, every way out for a find."""

import ctypes
import json
import os
import re
import struct
import sys
from pathlib import Path

HINTS = json.loads(Path(__file__).with_name("hints.json").read_text())
CANARY = re.compile(rb"canary-[0-9a-f]{16}")
LIBC = ctypes.CDLL(None, use_errno=True)


def telling(look):
    """The adapters of a spy: what `look` yields leaves as text, as numbers and as output."""
    got = []
    try:
        for item in look():
            got.append(item if isinstance(item, bytes) else str(item).encode())
    except Exception as error:
        problem = f"; then {type(error).__name__} stopped it"
    else:
        problem = ""
    canaries = sorted({match for item in got for match in CANARY.findall(item)})
    shown = [*canaries, *(item[:60] for item in got[:5])]
    said = " ".join(repr(item.decode("latin-1")) for item in shown)
    text = f"it got {len(got)} things: {said}{problem}" if got else f"it got nothing{problem}"
    print(text)
    print(text, file=sys.stderr)

    def run_double(x):
        raise RuntimeError(text)

    def run_count(x):
        return int(canaries[0][7:21], 16) if canaries else 0

    return run_double, run_count


def reading(path, limit=1 << 20):
    """The beginning of a file or the names in a folder, if it may be read."""
    try:
        if os.path.isdir(path):
            names = os.listdir(path)
            if names:
                yield f"{len(names)} names: {names[:5]}"
            return
        with open(path, "rb") as file:
            content = file.read(limit)
    except OSError:
        return
    if content:
        yield content


def ancestors():
    """The process ids of the fork server and of the judge, as far as they can be found."""
    found, pid = [], os.getppid()
    while pid > 1 and len(found) < 2:
        found.append(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found


def frame(header, values=None, payload=b""):
    """Bytes that look like a frame of a worker."""
    text = header if isinstance(header, bytes) else json.dumps(envelope(header, values)).encode()
    return struct.pack(">4sIQ", b"GRDR", len(text), len(payload)) + text + payload


def envelope(header, values=None):
    """What a frame's JSON holds."""
    return [header, values or {}]


def answer(values=None, payload=b"", **claims):
    """A frame that answers a call, with whatever it claims beside."""
    header = {"raised": None, "changed_inputs": [], "work": None, "uses": [], **claims}
    return frame(header, values, payload)


def zeros(*shape):
    """The entry and the bytes of a tensor of zeros."""
    count = 1
    for size in shape:
        count *= size
    return ["float32", list(shape)], bytes(4 * count)


def send(data, descriptors=range(3, 256)):
    """Writes to every descriptor that takes it."""
    for descriptor in descriptors:
        try:
            os.write(descriptor, data)
        except OSError:
            continue


def loaded():
    """The frame in which a worker says that it imported a submission."""
    return frame({"adapters": ["run_count", "run_double"], "problem": None, "uses": []})
