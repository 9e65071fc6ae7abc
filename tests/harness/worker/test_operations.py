"""Watched operations: they compute the same as before, in every overload and transform."""

import pytest
import torch

from grader.worker.observing.watching import watch_operation

pytestmark = pytest.mark.unit


@pytest.fixture
def seen():
    """A list of the watched operations that ran, by name."""
    found = []
    names = ("aten::add", "aten::where", "aten::log_softmax", "aten::cumsum", "aten::mm")
    watches = [watch_operation(name, lambda name=name: found.append(name)) for name in names]
    yield found
    for watch in watches:
        watch._destroy()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_watching_does_not_change_type_promotion_with_numbers(seen, dtype, shape):
    """torch turns the number into a tensor before the kernel runs."""
    x = torch.full(shape, 3, dtype=dtype)
    for number in (1, 0.1, True, float("-inf")):
        plus, chosen = x + number, torch.where(x > 5, x, number)
        assert plus.dtype == chosen.dtype == torch.result_type(x, number)
        expected = torch.full(shape, 3 + number, dtype=torch.float64).to(plus.dtype)
        torch.testing.assert_close(plus, expected)
        torch.testing.assert_close(chosen, torch.full(shape, number, dtype=plus.dtype))
    assert {*seen} == {"aten::add", "aten::where"}


def test_watching_does_not_round_numbers_to_the_dtype_of_a_tensor(seen):
    """torch rounds only the result, and adds numbers without any tensor."""
    watch = watch_operation("aten::div", lambda: seen.append("aten::div"))
    half, whole = torch.full((2,), 3e4, dtype=torch.float16), torch.ones(2, dtype=torch.int8)
    assert (half / 1e5).tolist() == pytest.approx([0.3, 0.3], abs=1e-3)
    watch._destroy()
    assert (whole + 300).tolist() == [45, 45]
    assert (whole[0] + 300).item() == 45
    for one, other, dtype in ((6, 3, torch.int64), (True, 0.5, torch.float32)):
        both = torch.add(one, other)
        assert (both.item(), both.dtype) == (one + other, dtype)
    assert {*seen} == {"aten::add", "aten::div"}


def test_gradients_pass_through_watched_operations(seen):
    """The test checks first and second gradients, in reverse and forward mode."""
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.log_softmax(x, -1), x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: x.mm(x.mT).cumsum(0), x)
    assert {*seen} > {"aten::log_softmax", "aten::mm", "aten::cumsum"}


def test_functional_transforms_work_on_watched_operations(seen):
    """Each transform decomposes an operation in its own way."""
    x = torch.randn(2, 3, 3)
    torch.testing.assert_close(torch.vmap(torch.mm)(x, x), x @ x)
    assert "aten::mm" in seen
    rows = torch.vmap(lambda row: torch.log_softmax(row, -1))(x)
    torch.testing.assert_close(rows, torch.log_softmax(x, -1))
    slope = torch.func.jacrev(lambda x: x.cumsum(0))(torch.ones(3))
    assert torch.equal(slope, torch.ones(3, 3).tril())
    assert {*seen} >= {"aten::log_softmax", "aten::cumsum"}


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x.cumsum_(0),
        lambda x: torch.cumsum(x, 0, out=torch.empty_like(x)),
        lambda x: torch.ops.aten.cumsum.default.redispatch(
            torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), x, 0
        ),
        lambda x: torch.ops.aten.log_softmax.int.decompose(x, 0),
    ],
    ids=["in place", "out", "redispatched", "decomposed"],
)
def test_every_variant_of_an_operation_counts(seen, use):
    """All variants compute the same."""
    use(torch.ones(3))
    assert seen
