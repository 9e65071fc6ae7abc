"""Mistakes with what stays beside a submission."""

from dataclasses import dataclass

import solutions


@dataclass
class Mistake:
    """A known wrong way."""

    id: str
    explanation: str
    hint: str
    variants: dict


def clipping_each_number(parameters, largest):
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad.clamp_(-largest, largest)


def loading_the_model_only(src, model, optimizer):
    fresh = optimizer.state_dict()
    iteration = solutions.run_load(src, model, optimizer)
    optimizer.load_state_dict(fresh)
    return iteration


class WithoutMomentum(solutions.Optimizer):
    def step(self):
        self.momentum = 0.0
        super().step()


MISTAKES = [
    Mistake(
        "clip-each-number",
        "You cut off each number, where a gradient is to be scaled as a whole.",
        "Does the direction of a gradient stay the same?",
        {"run_clipping": (clipping_each_number,)},
    ),
    Mistake(
        "load-model-only",
        "You load the module, and leave the optimizer as it was.",
        "What does an optimizer remember?",
        {"run_load": (loading_the_model_only,)},
    ),
    Mistake(
        "momentum-missing",
        "Your optimizer has no momentum.",
        "Where do you use it?",
        {"get_optimizer_class": (lambda: WithoutMomentum,)},
    ),
]
