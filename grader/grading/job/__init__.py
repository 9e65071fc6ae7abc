"""A job: a process, forked when the tests are collected, that is first judge and then explainer."""
