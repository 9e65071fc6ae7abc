"""Mistakes in the block and in the language model: wrong order of steps, wrong sums."""

from collections.abc import Iterable

import torch
from torch import Tensor

from ..steps import Layer, bottom_up
from .mistake import MODEL, WHOLE, Mistake, Way, ways

_MODEL = (MODEL,)


def _norm_behind_sum(x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer) -> Tensor:
    y = norm_1(x + attend(x))
    return norm_2(y + feed(y))


def _norm_behind_layer(
    x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer
) -> Tensor:
    y = x + norm_1(attend(x))
    return y + norm_2(feed(y))


def _no_residuals(x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer) -> Tensor:
    return feed(norm_2(attend(norm_1(x))))


def _no_first_residual(
    x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer
) -> Tensor:
    y = attend(norm_1(x))
    return y + feed(norm_2(y))


def _no_second_residual(
    x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer
) -> Tensor:
    y = x + attend(norm_1(x))
    return feed(norm_2(y))


def _normed_residuals(
    x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer
) -> Tensor:
    normed = norm_1(x)
    y = norm_2(normed + attend(normed))
    return y + feed(y)


def _first_input_again(
    x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer
) -> Tensor:
    y = x + attend(norm_1(x))
    return x + feed(norm_2(y))


def _no_first_norm(x: Tensor, _norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer) -> Tensor:
    y = x + attend(x)
    return y + feed(norm_2(y))


def _no_second_norm(x: Tensor, norm_1: Layer, attend: Layer, _norm_2: Layer, feed: Layer) -> Tensor:
    y = x + attend(norm_1(x))
    return y + feed(y)


def _side_by_side(x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer) -> Tensor:
    return x + attend(norm_1(x)) + feed(norm_2(x))


def _feed_first(x: Tensor, norm_1: Layer, attend: Layer, norm_2: Layer, feed: Layer) -> Tensor:
    y = x + feed(norm_2(x))
    return y + attend(norm_1(y))


def _first_twice(first: Tensor, _second: Tensor) -> tuple[Tensor, Tensor]:
    return first, first


def _exchanged(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    return second, first


def _without_last_norm(x: Tensor, blocks: Iterable[Layer], _norm: Layer, head: Layer) -> Tensor:
    return bottom_up(x, blocks, lambda features: features, head)


def _with_probabilities(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    return torch.softmax(bottom_up(x, blocks, norm, head), dim=-1)


def _with_logarithms(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    return torch.log_softmax(bottom_up(x, blocks, norm, head), dim=-1)


def _without_last_block(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    return bottom_up(x, list(blocks)[:-1], norm, head)


def _last_block_first(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    return bottom_up(x, list(blocks)[::-1], norm, head)


def _each_on_the_first(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    return head(norm(list(blocks)[-1](x)))


def _norm_first(x: Tensor, blocks: Iterable[Layer], norm: Layer, head: Layer) -> Tensor:
    return bottom_up(norm(x), blocks, lambda features: features, head)


def _first_of_all(_block: int, _blocks: int) -> int:
    return 0


def _last_of_all(_block: int, blocks: int) -> int:
    return blocks - 1


def _tied(token_embeddings: Tensor, _lm_head: Tensor) -> Tensor:
    return token_embeddings


MISTAKES = (
    Mistake(
        "post-norm",
        "Your norms stand behind the layers, but each should stand before its layer.",
        "Does attention see the tokens as they are, or normalised ones?",
        ways(
            Way(WHOLE, {"arrange_block": _norm_behind_sum}),
            Way(WHOLE, {"arrange_block": _norm_behind_layer}),
        ),
    ),
    Mistake(
        "residuals-missing",
        "Nothing is added to your tokens: each layer's result takes their place.",
        "Which result should a block return whose layers return only zeros?",
        ways(Way(WHOLE, {"arrange_block": _no_residuals})),
    ),
    Mistake(
        "attention-residual-missing",
        "The result of attention replaces the tokens, but it should be added to them.",
        "Which input should the second half of your block get if attention returns zeros?",
        ways(Way(WHOLE, {"arrange_block": _no_first_residual})),
    ),
    Mistake(
        "feed-forward-residual-missing",
        "The feed-forward layer's result takes the place of the tokens, but it should be added "
        "to them.",
        "Which result should a block return whose feed-forward layer returns zeros?",
        ways(Way(WHOLE, {"arrange_block": _no_second_residual})),
    ),
    Mistake(
        "residual-normalised",
        "Your residuals add to the normalised tokens, but they should add to the tokens "
        "themselves.",
        "In x + Attention(RMSNorm(x)), which x is the first one?",
        ways(Way(WHOLE, {"arrange_block": _normed_residuals})),
    ),
    Mistake(
        "residual-of-the-first-input",
        "Your second residual adds to what the block was given, so that attention's result is "
        "lost on the way.",
        "To which vector is the feed-forward layer's result added: to x, or to y?",
        ways(Way(WHOLE, {"arrange_block": _first_input_again})),
    ),
    Mistake(
        "attention-norm-missing",
        "Attention gets the tokens as they are, without the first norm.",
        "Which of the two norms has no effect on your result?",
        ways(Way(WHOLE, {"arrange_block": _no_first_norm})),
    ),
    Mistake(
        "feed-forward-norm-missing",
        "The feed-forward layer gets its tokens as they are, without the second norm.",
        "Which of the two norms has no effect on your result?",
        ways(Way(WHOLE, {"arrange_block": _no_second_norm})),
    ),
    Mistake(
        "layers-side-by-side",
        "Both layers look at what the block was given, but the second should look at the sum of "
        "that and what the first one made.",
        "Does the feed-forward layer see what attention found?",
        ways(Way(WHOLE, {"arrange_block": _side_by_side})),
    ),
    Mistake(
        "feed-forward-first",
        "The feed-forward layer comes before attention in your block.",
        "Which of the two layers does the first line of the formula have?",
        ways(Way(WHOLE, {"arrange_block": _feed_first})),
    ),
    Mistake(
        "norm-used-twice",
        "Both norms of your block have the gain of the first.",
        "Which of the weights that you are given has no effect on your result?",
        ways(Way(WHOLE, {"norms_in_order": _first_twice})),
    ),
    Mistake(
        "norms-exchanged",
        "The two norms of your block are swapped.",
        "Which norm stands before attention: ln1 or ln2?",
        ways(Way(WHOLE, {"norms_in_order": _exchanged})),
    ),
    Mistake(
        "final-norm-missing",
        "Your model leaves out the norm between the last block and the head.",
        "Which weight that is in no block and is not a matrix has no effect on your result?",
        ways(Way(_MODEL, {"arrange_model": _without_last_norm})),
    ),
    Mistake(
        "final-norm-first",
        "The norm that belongs behind the last block stands before the first one.",
        "Does the head of your model get normalised features, or others?",
        ways(Way(_MODEL, {"arrange_model": _norm_first})),
    ),
    Mistake(
        "head-tied",
        "Your head uses the weights of the embedding, but it has weights of its own.",
        "Which weight that you are given has no effect on your result?",
        ways(Way(_MODEL, {"head_weight": _tied})),
    ),
    Mistake(
        "softmax-at-the-end",
        "Your model returns probabilities instead of unnormalised scores.",
        "Does the loss take scores or probabilities?",
        ways(
            Way(_MODEL, {"arrange_model": _with_probabilities}),
            Way(_MODEL, {"arrange_model": _with_logarithms}),
        ),
    ),
    Mistake(
        "blocks-share-weights",
        "All your blocks have the weights of one of them.",
        "How many blocks does your code make, and which weights does each of them get?",
        ways(
            Way(_MODEL, {"weights_of_block": _first_of_all}),
            Way(_MODEL, {"weights_of_block": _last_of_all}),
        ),
    ),
    Mistake(
        "last-block-missing",
        "Your model has one block too few.",
        "With two layers, which numbers do your blocks have?",
        ways(Way(_MODEL, {"arrange_model": _without_last_block})),
    ),
    Mistake(
        "blocks-reversed",
        "Your model passes through its blocks from the last to the first.",
        "Which block should see the embeddings?",
        ways(Way(_MODEL, {"arrange_model": _last_block_first})),
    ),
    Mistake(
        "blocks-not-chained",
        "Each of your blocks gets the embeddings, so that only the last one counts.",
        "Which input does the second block get in your code, and which should it get?",
        ways(Way(_MODEL, {"arrange_model": _each_on_the_first})),
    ),
)
