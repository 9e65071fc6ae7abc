"""Masks that tell which query may attend to which key."""

import torch

MAIN_DIAGONAL_OFFSET = 0
FORBIDDEN_SCORE = float("-inf")


class AttentionMask:
    """An immutable boolean mask; True means that attention is allowed."""

    def __init__(self, allowed_positions):
        self._allowed_positions = allowed_positions

    @staticmethod
    def create_causal(sequence_length, device=None):
        all_allowed = torch.ones(sequence_length, sequence_length, dtype=torch.bool, device=device)
        return AttentionMask(torch.tril(all_allowed, diagonal=MAIN_DIAGONAL_OFFSET))

    @staticmethod
    def from_tensor_or_none(mask_tensor):
        if mask_tensor is None:
            return None
        return AttentionMask(mask_tensor)

    def get_allowed_positions(self):
        return self._allowed_positions

    def get_forbidden_positions(self):
        return torch.logical_not(self._allowed_positions)

    def apply_to_scores(self, attention_scores):
        return attention_scores.masked_fill(self.get_forbidden_positions(), FORBIDDEN_SCORE)
