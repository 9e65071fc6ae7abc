"""A tensor in a layout without addresses."""


def run_double(x):
    return x.detach().to_mkldnn()


def run_count(x):
    return None
