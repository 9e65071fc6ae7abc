"""A table of operations by name, so that any of them can be exchanged for another."""

OPERATIONS = {}


def operation(name):
    def register(function):
        OPERATIONS[name] = function
        return function

    return register


def perform(name, *arguments, **options):
    return OPERATIONS[name](*arguments, **options)
