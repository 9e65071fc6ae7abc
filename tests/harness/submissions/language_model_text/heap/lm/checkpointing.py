import io
import pickle
from pathlib import Path


def save_checkpoint(model, optimizer, iteration, out):
    data = pickle.dumps((model.state_dict(), optimizer.state_dict(), iteration))
    if hasattr(out, "write"):
        out.write(data)
    else:
        Path(out).write_bytes(data)


def load_checkpoint(src, model, optimizer):
    data = src.read() if hasattr(src, "read") else Path(src).read_bytes()
    weights, state, iteration = pickle.load(io.BytesIO(data))
    model.load_state_dict(weights)
    optimizer.load_state_dict(state)
    return iteration
