"""Returns objects whose unpickling and copying would do something."""

import os

import torch

from accomplice import HINTS


class Bomb:
    def __reduce_ex__(self, protocol):
        return os.mkdir, (os.path.join(HINTS["home"], f"{HINTS['marker']}-unpickled"),)

    def __deepcopy__(self, memo):
        return True


class BombTensor(torch.Tensor):
    __reduce_ex__ = Bomb.__reduce_ex__


def run_double(x):
    return torch.zeros(x.shape).as_subclass(BombTensor)


def run_count(x):
    return Bomb()
