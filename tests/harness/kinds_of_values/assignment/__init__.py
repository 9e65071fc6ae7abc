"""What students fill in."""


def _not_yet(*_):
    raise NotImplementedError


counts = tokens = pairs = split = layers = vocabulary = rate = precision = merges = gains = _not_yet
tokenizer = optimizer_class = primes = _not_yet
clipping = save = load = most_common = lengths = _not_yet
windows = training = _not_yet
