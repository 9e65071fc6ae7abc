"""The bundled assignment: its tests are worth what they cost."""

import re


def test_the_bundled_tests_catch_every_known_mistake_and_let_right_code_pass(grader, capsys):
    """And none is taken for another; the table tells which, for whoever changes tests."""
    done = grader("verify")
    with capsys.disabled():
        print(f"\n{done.stdout.splitlines()[-1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    wrong, caught, named, misnamed = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert caught == wrong > 400
    assert named > 300
    assert misnamed == 0
