"""Dropout in training, with the check that chance is at work in it."""


def dropped_anew(student, weights, p):
    """Returns the first of two results, if the second call drops other weights."""
    first, second = (student.seeded(n)(weights, p=p, training=True) for n in range(2))
    assert (first == 0).any(), f"with p={p} no weight is dropped in training"
    assert (first != 0).any(), f"with p={p} every weight is dropped in training"
    assert not (first == 0).equal(second == 0), "each call drops the same weights"
    return first
