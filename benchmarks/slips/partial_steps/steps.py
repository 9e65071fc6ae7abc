"""The steps of attention."""

import torch
from pipeline import step, step_on_any


def softmax(x, dim):
    logs = x - torch.logsumexp(x, dim, keepdim=True)
    return logs.exp()


def past_mask(length):
    return torch.ones((length, length), dtype=torch.bool).tril()


@step("q", "k", gives="scores")
def compare(q, k):
    return q.matmul(k.mT)


@step("scores", "q", gives="scores")
def cool(scores, q):
    return scores.div(q.shape[-1] ** 0.5)


@step("scores", "mask", gives="scores")
def hide(scores, mask):
    if mask is None:
        return scores
    return scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))


@step("scores", gives="weights")
def share(scores):
    return softmax(scores, dim=-1)


@step("weights", "v", gives="out")
def mix(weights, v):
    return weights.matmul(v)


ATTEND = (compare, cool, hide, share, mix)


@step("q", gives="mask")
def only_past(q):
    return past_mask(q.shape[-2]).to(q.device)


@step(gives="mask")
def see_all():
    return None


@step("weights", gives="weights")
def thin(weights, p):
    survives = torch.bernoulli(torch.full_like(weights, 1 - p))
    return weights * survives / (1 - p)


@step_on_any
def project(state, x, weight):
    return x.matmul(weight)


@step_on_any
def split(state, x, heads):
    return x.unflatten(-1, (heads, -1)).movedim(-2, -3)


@step_on_any
def turn(state, x, theta):
    width = x.shape[-1]
    pair = torch.arange(0, width, 2, device=x.device, dtype=torch.float64)
    angle = state["positions"][..., None] * theta ** -(pair / width)
    cos = angle.cos()[..., None]
    sin = torch.stack([-angle.sin(), angle.sin()], dim=-1)
    pairs = x.unfold(-1, 2, 2)
    turned = pairs * cos.to(x.dtype) + pairs.flip(-1) * sin.to(x.dtype)
    return turned.reshape(x.shape)


@step("out", gives="out")
def merge(out):
    return out.movedim(-3, -2).flatten(-2)
