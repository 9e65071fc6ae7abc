"""The exports of grades to course platforms and other programs, derived from the store alone."""
