"""Steps take a dictionary of tensors and return one in which a single tensor is new."""

from functools import reduce, wraps


def step(*needs, gives):
    """Makes a step of a function of tensors: which ones it needs, and the name of its result."""

    def decorate(function):
        @wraps(function)
        def run(state, **settings):
            tensors = [state.get(need) for need in needs]
            return {**state, gives: function(*tensors, **settings)}

        return run

    return decorate


def step_on_any(function):
    """Makes a step of a function of one tensor, which is replaced by the result."""

    @wraps(function)
    def run(state, name, **settings):
        result = function(state, state[name], **settings)
        return {**state, name: result}

    return run


def chain(*steps):
    return lambda start: reduce(lambda state, next_step: next_step(state), steps, start)
