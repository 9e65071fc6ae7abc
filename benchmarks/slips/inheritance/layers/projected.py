"""Attention behind three matrices that multiply from the right."""

from layers.attention import Attention, Causal


class Projected(Attention):
    def __init__(self, W_query, W_key, W_value):
        super().__init__()
        self.W_query = W_query
        self.W_key = W_key
        self.W_value = W_value

    def project(self, query, key, value):
        return query @ self.W_query, key @ self.W_key, value @ self.W_value


class CausalProjected(Causal, Projected):
    pass
