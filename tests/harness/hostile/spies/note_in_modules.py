"""Looks for what an earlier submission left in the modules that workers share."""

import builtins
import json
import sys

import torch

from accomplice import telling

SHARED = (builtins, json, sys, torch, torch.Tensor)


def look():
    for place in SHARED:
        if hasattr(place, "a_note_was_left"):
            yield f"{place} has a note"
        try:
            place.a_note_was_left = True
        except TypeError:
            continue


run_double, run_count = telling(look)
