"""Attention layers, one class for each concept."""

import math

import torch

from masks import AttentionMask

FEATURE_AXIS = -1
SEQUENCE_AXIS = -2
HEAD_AXIS = -3


class SoftmaxFunction:
    """Numerically stable softmax along one axis."""

    def __init__(self, axis=FEATURE_AXIS):
        self._axis = axis

    def get_axis(self):
        return self._axis

    def apply(self, scores):
        maximum_scores = scores.max(dim=self.get_axis(), keepdim=True).values
        exponentials = torch.exp(scores - maximum_scores)
        sum_of_exponentials = exponentials.sum(dim=self.get_axis(), keepdim=True)
        return exponentials / sum_of_exponentials


class ScaledDotProductAttention:
    """softmax(Q K^T / sqrt(d_k)) V, with an optional mask."""

    def __init__(self, mask=None):
        self._mask = mask
        self._softmax = SoftmaxFunction(axis=FEATURE_AXIS)

    @staticmethod
    def with_mask(mask_tensor):
        return ScaledDotProductAttention(AttentionMask.from_tensor_or_none(mask_tensor))

    @staticmethod
    def causal(sequence_length, device=None):
        return ScaledDotProductAttention(AttentionMask.create_causal(sequence_length, device))

    def has_mask(self):
        return self._mask is not None

    def compute_scores(self, queries, keys):
        query_dimension = queries.shape[FEATURE_AXIS]
        transposed_keys = keys.transpose(SEQUENCE_AXIS, FEATURE_AXIS)
        scores = torch.matmul(queries, transposed_keys) / math.sqrt(query_dimension)
        if self.has_mask():
            scores = self._mask.apply_to_scores(scores)
        return scores

    def compute_weights(self, queries, keys):
        return self._softmax.apply(self.compute_scores(queries, keys))

    def forward(self, queries, keys, values):
        attention_weights = self.compute_weights(queries, keys)
        return torch.matmul(attention_weights, values)


class SingleHead:
    """One causal head whose weights multiply from the right."""

    def __init__(self, query_weight, key_weight, value_weight):
        self._query_weight = query_weight
        self._key_weight = key_weight
        self._value_weight = value_weight

    def forward(self, input_features):
        queries = torch.matmul(input_features, self._query_weight)
        keys = torch.matmul(input_features, self._key_weight)
        values = torch.matmul(input_features, self._value_weight)
        sequence_length = input_features.shape[SEQUENCE_AXIS]
        attention = ScaledDotProductAttention.causal(sequence_length, input_features.device)
        return attention.forward(queries, keys, values)


class StackedHeads:
    """Several single heads whose outputs stand side by side."""

    def __init__(self, heads):
        self._heads = heads

    @staticmethod
    def from_stacked_weights(query_weights, key_weights, value_weights):
        heads = []
        for head_index in range(query_weights.shape[0]):
            head = SingleHead(
                query_weights[head_index],
                key_weights[head_index],
                value_weights[head_index],
            )
            heads.append(head)
        return StackedHeads(heads)

    def get_heads(self):
        return self._heads

    def forward(self, input_features):
        head_outputs = [head.forward(input_features) for head in self.get_heads()]
        return torch.cat(head_outputs, dim=FEATURE_AXIS)


class HeadSplitter:
    """Splits the features into heads and puts them together again."""

    def __init__(self, model_dimension, number_of_heads):
        self._model_dimension = model_dimension
        self._number_of_heads = number_of_heads

    def get_head_dimension(self):
        return self._model_dimension // self._number_of_heads

    def split(self, features):
        leading_shape = features.shape[:FEATURE_AXIS]
        separated = features.reshape(
            *leading_shape, self._number_of_heads, self.get_head_dimension()
        )
        return separated.transpose(SEQUENCE_AXIS, HEAD_AXIS)

    def merge(self, heads):
        sequence_first = heads.transpose(SEQUENCE_AXIS, HEAD_AXIS)
        return sequence_first.flatten(start_dim=SEQUENCE_AXIS)


class ProjectionWeights:
    """The four weights of a multi-head layer, stored as in torch.nn.Linear."""

    def __init__(self, query_weight, key_weight, value_weight, output_weight):
        self._query_weight = query_weight
        self._key_weight = key_weight
        self._value_weight = value_weight
        self._output_weight = output_weight

    @staticmethod
    def _project(features, weight):
        return torch.matmul(features, weight.transpose(0, 1))

    def project_queries(self, features):
        return self._project(features, self._query_weight)

    def project_keys(self, features):
        return self._project(features, self._key_weight)

    def project_values(self, features):
        return self._project(features, self._value_weight)

    def project_output(self, features):
        return self._project(features, self._output_weight)


class MultiHeadAttention:
    """Multi-head attention, with rotary positions if an embedding is given."""

    def __init__(self, model_dimension, number_of_heads, projection_weights, rotary_embedding=None):
        self._head_splitter = HeadSplitter(model_dimension, number_of_heads)
        self._projection_weights = projection_weights
        self._rotary_embedding = rotary_embedding

    def get_projection_weights(self):
        return self._projection_weights

    def forward(self, query, key, value, is_causal, token_positions=None):
        weights = self.get_projection_weights()
        query_heads = self._head_splitter.split(weights.project_queries(query))
        key_heads = self._head_splitter.split(weights.project_keys(key))
        value_heads = self._head_splitter.split(weights.project_values(value))
        if self._rotary_embedding is not None:
            positions_of_heads = token_positions.unsqueeze(SEQUENCE_AXIS)
            query_heads = self._rotary_embedding.rotate(query_heads, positions_of_heads)
            key_heads = self._rotary_embedding.rotate(key_heads, positions_of_heads)
        attention = ScaledDotProductAttention.with_mask(None)
        if is_causal:
            attention = ScaledDotProductAttention.causal(query.shape[SEQUENCE_AXIS], query.device)
        context_heads = attention.forward(query_heads, key_heads, value_heads)
        merged_context = self._head_splitter.merge(context_heads)
        return weights.project_output(merged_context)
