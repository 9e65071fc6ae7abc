import logging

import numpy as np
import torch

logger = logging.getLogger(__name__)


def get_batch(dataset, batch_size: int, context_length: int, device: str):
    ix = torch.randint(len(dataset) - context_length, (batch_size,))
    offsets = np.arange(context_length)[None, :] + ix.numpy()[:, None]
    x = torch.as_tensor(dataset[offsets].astype(np.int64))
    y = torch.as_tensor(dataset[offsets + 1].astype(np.int64))
    if device.startswith("cuda"):
        return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    return x.to(device), y.to(device)


def save(model, optimizer, iteration, out):
    torch.save({"m": model.state_dict(), "o": optimizer.state_dict(), "i": iteration}, out)
    logger.info("saved %s", out)


def load(src, model, optimizer):
    checkpoint = torch.load(src, map_location="cpu", weights_only=False)
    model.load_state_dict(checkpoint["m"])
    optimizer.load_state_dict(checkpoint["o"])
    return checkpoint["i"]
