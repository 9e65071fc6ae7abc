"""Tools for a course's authors: verify, mutate, freeze, hand out, new, Gradescope's zip."""
