"""Which of the reference's steps a submission takes, and how far they are right."""
