"""Plain data between judge and worker; it knows no secret and imports none of the engine."""

# The first number of a row that stands for a value of another kind than a tensor, by kind. Rows of
# two kinds are never near each other.
ROW_MARKS = {
    kind: -1e9 - 1e6 * number
    for number, kind in enumerate((
        *("None", "a truth value", "a text", "of type bytes", "a tuple, list or set", "a dict"),
        *("another object", "a tensor"),
    ))
}  # fmt: skip
