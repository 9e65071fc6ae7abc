"""What the tests of checkpoints share."""

import torch

from grader.testing import assert_matches


def trained(handle, layers, gradients, lr=0.05):
    """A model and its optimizer, after a step with each of some gradients of the first weight."""
    model = handle.module(layers)
    optimizer = handle.optimizer("AdamW", model, lr=lr)
    for gradient in gradients:
        model.parameter("0.weight").grad = gradient
        optimizer.step()
    return model, optimizer


def small_model(draw):
    """Two layers with numbers that are drawn."""
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    for parameter in layers.parameters():
        parameter.data = draw(*parameter.shape)
    return layers


def model_with_buffers(draw):
    """The two layers with a batch norm between them, which keeps a running mean in a buffer."""
    first, last = small_model(draw)
    norm = torch.nn.BatchNorm1d(4)
    norm.running_mean = draw(4)
    return torch.nn.Sequential(first, norm, last)


def form_of(file, form):
    """A file as a path, as a text, or open."""
    return {"path": file, "str": file.as_str, "stream": file.as_stream}[form]


def gone_on(handle, saved, loaded, draw_of_steps, save_to="path", load_from="path", lr=0.05):
    """What a training goes on with: iteration, weights, and the weights after one step more.

    `saved` and `loaded` are the model that is saved, and the one into which it is loaded; `lr` is
    the rate of the latter's optimizer.
    """
    save, load = (handle.other(f"run_{what}_checkpoint") for what in ("save", "load"))
    before, other, after, iteration, x = draw_of_steps
    file = handle.file(name="checkpoint.pt")
    save(*trained(handle, saved, before), iteration, form_of(file, save_to))
    file = file.in_a_new_process()
    model, optimizer = trained(handle, loaded, other, lr)
    told = load(form_of(file, load_from), model, optimizer)
    weights = model.state_dict()
    model.parameter("0.weight").grad = after
    optimizer.step()
    return told, weights, model.state_dict(), model(x)


def checkpoints_match(
    student, reference, draw, save_to="path", load_from="path", lr=0.05, model=small_model, made=1
):
    """A training that was saved and loaded goes on as if it had not been stopped.

    A file is a path, a text or open, but not for both: each function has tests of its own.
    The optimizer into which it is loaded has `made` steps.
    """
    saved, loaded = model(draw), model(draw)
    steps = (
        [draw(4, 3) for _ in range(3)],
        [draw(4, 3) for _ in range(made)],
        draw(4, 3),
        int(draw.integers(10, 5_000)),
        draw(5, 3),
    )
    (iteration, weights, later, output), (right_iteration, right_weights, right_later, right) = [
        gone_on(handle, saved, loaded, steps, save_to, load_from, lr)
        for handle in (student, reference)
    ]
    assert_matches(iteration, right_iteration, what="the iteration that was saved and loaded again")
    # The names are the reference's: a submission could leave a name out of the state that it tells.
    for name, wanted in right_weights.items():
        assert_matches(weights.get(name), wanted, what=f"{name} of the loaded model")
    for name, wanted in right_later.items():
        what = f"{name} of the loaded model, after one step more of its optimizer,"
        assert_matches(later.get(name), wanted, what=what)
    assert_matches(output, right, what="what the loaded model computes")
