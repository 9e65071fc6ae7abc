class AttentionConfig:
    """Configuration of an attention layer; derived sizes are attributes as well."""

    model_type = "assignment"

    def __init__(
        self,
        hidden_size=64,
        num_attention_heads=1,
        max_position_embeddings=2048,
        rotary_base=None,
        attn_pdrop=0.0,
        is_decoder=False,
        scale_attn_weights=True,
        qkv_bias=False,
        out_bias=False,
        input_size=None,
    ):
        self.hidden_size = hidden_size
        self.num_attention_heads = num_attention_heads
        self.max_position_embeddings = max_position_embeddings
        self.rotary_base = rotary_base
        self.attn_pdrop = attn_pdrop
        self.is_decoder = is_decoder
        self.scale_attn_weights = scale_attn_weights
        self.qkv_bias = qkv_bias
        self.out_bias = out_bias
        self.input_size = hidden_size if input_size is None else input_size

    @property
    def head_dim(self):
        if self.hidden_size % self.num_attention_heads != 0:
            raise ValueError(
                f"hidden_size ({self.hidden_size}) must be divisible by num_attention_heads "
                f"({self.num_attention_heads})"
            )
        return self.hidden_size // self.num_attention_heads
