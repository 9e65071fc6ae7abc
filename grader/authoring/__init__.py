"""For authors of a course: verify, mutate, freeze, hand out, new assignments, Gradescope's zip."""
