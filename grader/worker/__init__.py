"""The untrusted side: everything that is ever loaded beside a submission's code, and no more.

These modules, with `grader.core.wire`, run in the process of a submission. They hold no reference,
no test, no expected value and no score, and import nothing of the judge's side.
"""
