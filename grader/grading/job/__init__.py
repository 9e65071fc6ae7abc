"""A job: the process that collects the tests once, and is the judge and then the explainer."""
