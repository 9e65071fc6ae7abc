"""Mistakes in checkpoints."""

from collections.abc import Callable
from typing import Any

import torch

from ..checkpoint import File, save_checkpoint
from .mistake import Mistake


def _saving(**replaced: Callable[[Any], Any]) -> Callable[..., None]:
    """Returns a function that writes something else in place of some parts."""

    def save(
        model: torch.nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File
    ) -> None:
        parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        parts["iteration"] = iteration
        torch.save({name: replaced.get(name, _kept)(one) for name, one in parts.items()}, out)

    return save


def _kept(part: Any) -> Any:
    return part


def _without_state(states: dict[str, Any]) -> dict[str, Any]:
    return states | {"state": {}}


def _all_zero(states: dict[str, Any]) -> dict[str, Any]:
    return {name: numbers * 0 for name, numbers in states.items()}


def _loading(
    weights: Callable[[Any], Any] | None = _kept,
    states: Callable[[Any], Any] | None = _kept,
    told: Callable[[int], int | None] = _kept,
) -> Callable[..., int | None]:
    """Returns a function that restores only a part, or something else in its place."""

    def load(src: File, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int | None:
        saved = torch.load(src)
        if weights is not None:
            model.load_state_dict(weights(saved["model"]))
        if states is not None:
            optimizer.load_state_dict(states(saved["optimizer"]))
        return told(saved["iteration"])

    return load


def _by_path_only(model: Any, optimizer: Any, iteration: int, out: File) -> None:
    with open(out, "wb") as file:  # type: ignore[arg-type]  # noqa: PTH123
        save_checkpoint(model, optimizer, iteration, file)


def _load_by_path_only(src: File, model: Any, optimizer: Any) -> int | None:
    with open(src, "rb") as file:  # type: ignore[arg-type]  # noqa: PTH123
        return _loading()(file, model, optimizer)


MISTAKES = (
    Mistake(
        "checkpoint-optimizer-lost",
        "The state of the optimizer is lost on the way through your checkpoint.",
        "Which values does AdamW hold after a thousand steps that it does not hold at the start?",
        {
            "run_save_checkpoint": (_saving(optimizer=_without_state),),
            "run_load_checkpoint": (_loading(states=None), _loading(states=_without_state)),
        },
    ),
    Mistake(
        "checkpoint-model-lost",
        "The weights of the model are not those that were saved.",
        "Which type does `state_dict()` return, and which method takes it back?",
        {
            "run_save_checkpoint": (_saving(model=_all_zero),),
            "run_load_checkpoint": (_loading(weights=None), _loading(weights=_all_zero)),
        },
    ),
    Mistake(
        "checkpoint-iteration-lost",
        "The iteration that your checkpoint gives is not the one that was saved.",
        "At which iteration does a training go on that was stopped after iteration 1000?",
        {
            "run_save_checkpoint": (
                _saving(iteration=lambda _iteration: 0),
                _saving(iteration=lambda iteration: iteration + 1),
            ),
            "run_load_checkpoint": (
                _loading(told=lambda _iteration: 0),
                _loading(told=lambda iteration: iteration + 1),
                _loading(told=lambda _iteration: None),
            ),
        },
    ),
    Mistake(
        "checkpoint-paths-only",
        "Your checkpoint can only be a path, but an open file is allowed as well.",
        "Which of your calls knows what to do with a path and with an open file?",
        {
            "run_save_checkpoint": (_by_path_only,),
            "run_load_checkpoint": (_load_by_path_only,),
        },
    ),
)
