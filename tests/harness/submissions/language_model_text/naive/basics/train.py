import numpy as np
import torch


def get_batch(dataset, batch_size, context_length, device):
    starts = np.random.randint(0, len(dataset) - context_length, size=batch_size)
    x = torch.stack([torch.from_numpy(dataset[i : i + context_length].astype(np.int64)) for i in starts])
    y = torch.stack(
        [torch.from_numpy(dataset[i + 1 : i + 1 + context_length].astype(np.int64)) for i in starts]
    )
    return x.to(device), y.to(device)


def save(model, optimizer, iteration, out):
    obj = {
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "iteration": iteration,
    }
    torch.save(obj, out)


def load(src, model, optimizer):
    obj = torch.load(src)
    model.load_state_dict(obj["model_state_dict"])
    optimizer.load_state_dict(obj["optimizer_state_dict"])
    return obj["iteration"]
