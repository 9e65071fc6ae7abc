import torch
from torch import nn

from .functional import eager_attention_forward, get_extended_attention_mask, make_causal_mask
from .rotary import RotaryEmbedding, apply_rotary_pos_emb


class SelfAttention(nn.Module):
    """Self-attention, and cross-attention where `encoder_hidden_states` are given."""

    def __init__(self, config, device=None):
        super().__init__()
        self.config = config
        self.embed_dim = config.hidden_size
        self.num_heads = config.num_attention_heads
        self.head_dim = config.head_dim
        self.scale_attn = self.head_dim**-0.5 if config.scale_attn_weights else None
        self.q_proj = nn.Linear(config.input_size, self.embed_dim, bias=config.qkv_bias, device=device)
        self.k_proj = nn.Linear(config.input_size, self.embed_dim, bias=config.qkv_bias, device=device)
        self.v_proj = nn.Linear(config.input_size, self.embed_dim, bias=config.qkv_bias, device=device)
        self.out_proj = nn.Linear(self.embed_dim, self.embed_dim, bias=config.out_bias, device=device)
        self.rotary = None
        if config.rotary_base is not None:
            self.rotary = RotaryEmbedding(
                self.head_dim, config.max_position_embeddings, config.rotary_base, device
            )

    @classmethod
    def from_pretrained(cls, config, q_proj, k_proj, v_proj, out_proj):
        model = cls(config, device=q_proj.device)
        state_dict = {
            "q_proj.weight": q_proj,
            "k_proj.weight": k_proj,
            "v_proj.weight": v_proj,
            "out_proj.weight": out_proj,
        }
        missing_keys, unexpected_keys = model.load_state_dict(state_dict, strict=False, assign=True)
        if missing_keys or unexpected_keys:
            raise ValueError(f"missing keys: {missing_keys}, unexpected keys: {unexpected_keys}")
        return model.eval()

    def _split_heads(self, tensor, num_attention_heads, attn_head_size, rotary):
        """Splits hidden dim into attn_head_size and num_attention_heads."""
        new_shape = tensor.size()[:-1] + (num_attention_heads, attn_head_size)
        tensor = tensor.view(new_shape)
        if rotary:
            return tensor
        return tensor.permute(0, 2, 1, 3)  # (batch, head, seq_length, head_features)

    def _merge_heads(self, tensor, num_attention_heads, attn_head_size):
        """Merges attn_head_size dim and num_attn_heads dim into hidden dim."""
        tensor = tensor.permute(0, 2, 1, 3).contiguous()
        new_shape = tensor.size()[:-2] + (num_attention_heads * attn_head_size,)
        return tensor.view(new_shape)

    def _causal_bias(self, hidden_states):
        mask = make_causal_mask(hidden_states.size(1), device=hidden_states.device)
        return get_extended_attention_mask(mask, hidden_states.dtype)[None, None, :, :]

    def forward(
        self,
        hidden_states,
        encoder_hidden_states=None,
        encoder_values=None,
        position_ids=None,
        output_attentions=False,
    ):
        is_cross_attention = encoder_hidden_states is not None
        current_states = encoder_hidden_states if is_cross_attention else hidden_states
        value_states = encoder_values if is_cross_attention else hidden_states

        query = self.q_proj(hidden_states)
        key = self.k_proj(current_states)
        value = self.v_proj(value_states)

        is_rotary = self.rotary is not None
        query = self._split_heads(query, self.num_heads, self.head_dim, is_rotary)
        key = self._split_heads(key, self.num_heads, self.head_dim, is_rotary)
        value = self._split_heads(value, self.num_heads, self.head_dim, False)

        if is_rotary:
            if position_ids is None:
                position_ids = torch.arange(hidden_states.size(1), device=hidden_states.device)
                position_ids = position_ids.unsqueeze(0)
            sin, cos = self.rotary(position_ids, query.dtype)
            key = apply_rotary_pos_emb(key, sin, cos)
            query = apply_rotary_pos_emb(query, sin, cos)
            key = key.permute(0, 2, 1, 3)
            query = query.permute(0, 2, 1, 3)

        attention_mask = None
        if self.config.is_decoder:
            attention_mask = self._causal_bias(hidden_states)

        attn_output, attn_weights = eager_attention_forward(
            query,
            key,
            value,
            attention_mask,
            scaling=self.scale_attn,
            dropout=self.config.attn_pdrop,
            training=self.training,
        )
        attn_output = self._merge_heads(attn_output, self.num_heads, self.head_dim)
        attn_output = self.out_proj(attn_output)

        outputs = (attn_output,)
        if output_attentions:
            outputs += (attn_weights,)
        return outputs

    def num_parameters(self):
        return sum(p.numel() for p in self.parameters())
