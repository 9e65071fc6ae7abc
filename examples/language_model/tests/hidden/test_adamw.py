"""AdamW: what the grade looks at beyond the public tests."""

import pytest
import torch
from tests.public.training import SETTINGS, slopes, steps_match

from grader.testing import assert_matches, exercise


@exercise("get_adamw_cls")
@pytest.mark.parametrize("sizes", [[7], [3, 3, 3]], ids=str)
def test_adamw_of_several_parameters(student, reference, draw, sizes):
    """Each parameter has running means and steps of its own, among others of its size as well."""
    starts = [draw(size) for size in sizes]
    gradients = [[slopes(draw, size) for size in sizes] for _ in range(12)]
    steps_match(student, reference, starts, gradients, lr=2e-3, weight_decay=0.1)


@exercise("get_adamw_cls")
def test_adamw_without_decay(student, reference, draw):
    """Adam, then: the moments alone."""
    starts, gradients = [draw(4, 4)], [[slopes(draw, 4, 4)] for _ in range(10)]
    steps_match(student, reference, starts, gradients, weight_decay=0.0, lr=0.01)


@exercise("get_adamw_cls", aspect="generality")
@pytest.mark.parametrize("eps", [0.05, 0.3])
def test_adamw_with_a_large_eps(student, reference, draw, eps):
    """eps is added to the root, and is not part of it.

    The first gradients are 0, until the means need no correction: whether eps is added before or
    behind that is all one.
    """
    starts, still = [draw(5)], torch.zeros(5)
    gradients = [[still]] * 16 + [[draw(5)] for _ in range(4)]
    settings = {"betas": (0.5, 0.5), "eps": eps, "lr": 0.05, "weight_decay": 0.0}
    steps_match(student, reference, starts, gradients, first=17, **settings)


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_leaves_alone_what_has_no_gradient(student, reference, draw):
    """A parameter without a gradient stays as it is, undecayed, and the next one is moved."""
    starts = [draw(3), draw(3), draw(3)]
    gradients = [[slopes(draw, 3), None, slopes(draw, 3)] for _ in range(3)]
    steps_match(student, reference, starts, gradients)


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_counts_the_steps_of_each_parameter(student, reference, draw):
    """The means of a parameter whose first gradient comes late are corrected from then on."""
    starts = [draw(3), draw(3)]
    gradients = [[slopes(draw, 3) if step > 1 else None, slopes(draw, 3)] for step in range(5)]
    steps_match(student, reference, starts, gradients)


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_goes_on_from_its_saved_state(student, reference, draw):
    """What steps remember lies in the optimizer's state, which is saved with it."""
    start, gradients = draw(4), [slopes(draw, 4) for _ in range(6)]
    values = []
    for handle in (student, reference):
        parameter = handle.parameter(start)
        optimizers = [handle()([parameter], **SETTINGS) for _ in range(2)]
        for number, gradient in enumerate(gradients):
            if number == 3:
                optimizers[1].load_state_dict(optimizers[0].state_dict())
            parameter.grad = gradient
            optimizers[number // 3].step()
        values.append(parameter.value)
    assert_matches(*values, what="the parameter after going on from a saved state")


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_decays_what_has_a_gradient_of_0(student, reference, draw):
    """The decay is no part of the gradient, and is not divided by its running mean."""
    gradients = [[torch.zeros(5)] for _ in range(3)]
    steps_match(student, reference, [draw(5)], gradients, lr=0.05, weight_decay=0.1)


@exercise("get_adamw_cls", aspect="generality")
@pytest.mark.parametrize("rate", [0.02, 0.005])
def test_adamw_of_groups(student, reference, draw, rate):
    """Each group of parameters may have a rate of its own."""
    starts, gradients = [draw(4), draw(4)], [slopes(draw, 4) for _ in range(3)]
    values = []
    for handle in (student, reference):
        parameters = [handle.parameter(start) for start in starts]
        groups = [{"params": [parameters[0]], "lr": rate}, {"params": [parameters[1]]}]
        optimizer = handle()(groups, **(SETTINGS | {"weight_decay": 0.0}))
        for gradient in gradients:
            for parameter in parameters:
                parameter.grad = gradient
            optimizer.step()
        values.append([parameter.value for parameter in parameters])
    for number, (got, wanted) in enumerate(zip(*values, strict=True), 1):
        assert_matches(got, wanted, what=f"the parameter of group {number}")


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_at_a_rate_that_changes(student, reference, draw):
    """A schedule writes another rate into a group: the next steps take it."""
    start, gradients = draw(4), [slopes(draw, 4) for _ in range(3)]
    values = []
    for handle in (student, reference):
        parameter = handle.parameter(start)
        optimizer = handle()([parameter], **(SETTINGS | {"weight_decay": 0.0}))
        # Before the first step, so that the state is empty, whatever a submission keeps in it.
        states = optimizer.state_dict()
        states["param_groups"][0]["lr"] = 0.02
        optimizer.load_state_dict(states)
        for gradient in gradients:
            parameter.grad = gradient
            optimizer.step()
        values.append(parameter.value)
    assert_matches(*values, what="the parameter after three steps at another rate")


@exercise("get_adamw_cls", aspect="generality")
def test_adamw_of_what_parameters_gives(student, reference, draw):
    """Parameters come from a generator as well, as those of a module do."""
    layer, gradients = draw.module(torch.nn.Linear(3, 2)), [slopes(draw, 2, 3) for _ in range(3)]
    states = []
    for handle in (student, reference):
        module = handle.module(layer)
        optimizer = handle()(module.parameters(), **SETTINGS)
        for gradient in gradients:
            module.parameter("weight").grad = gradient
            optimizer.step()
        states.append(module.state_dict())
    for name, before in layer.state_dict().items():
        own, right = (state[name] - before for state in states)
        assert_matches(own, right, what=f"the change of the {name} in three steps")


@exercise("get_adamw_cls", aspect="discipline")
def test_adamw_removes_gradients(student, draw):
    """`zero_grad` leaves no gradient, or zeros: the next one must not be added to this one."""
    parameter = student.parameter(draw(4), grad=slopes(draw, 4))
    student()([parameter], **SETTINGS).zero_grad()
    left = parameter.grad
    assert left is None or not left.any(), "after zero_grad the parameter still has its gradient"


@exercise("get_adamw_cls", aspect="discipline")
def test_adamw_leaves_gradients_alone(student, draw):
    """A step reads the gradients and does not write into them."""
    parameter, gradient = student.parameter(draw(4)), draw(4)
    optimizer = student()([parameter], **SETTINGS)
    parameter.grad = gradient
    optimizer.step()
    assert_matches(parameter.grad, gradient, what="the gradient after a step")
