"""Gradescope's autograder: a zip with the engine, the assignment and two scripts."""
