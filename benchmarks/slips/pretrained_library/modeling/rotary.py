import torch


def create_sinusoidal_positions(num_pos, dim, base=10000, device=None):
    """(num_pos, dim): the sines of all frequencies, then the cosines."""
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float64, device=device) / dim))
    positions = torch.arange(num_pos, dtype=torch.float64, device=device)
    sinusoid_inp = torch.einsum("i,j->ij", positions, inv_freq)
    return torch.cat((torch.sin(sinusoid_inp), torch.cos(sinusoid_inp)), dim=1)


def interleave(embed_positions):
    """(num_pos, dim), halves -> sine, cosine, sine, cosine, ..."""
    sin, cos = torch.split(embed_positions, embed_positions.shape[-1] // 2, dim=-1)
    return torch.stack((sin, cos), dim=-1).flatten(-2)


def rotate_every_two(x):
    x1 = x[..., ::2]
    x2 = x[..., 1::2]
    x = torch.stack((-x2, x1), dim=-1)
    return x.flatten(-2)


def apply_rotary_pos_emb(tensor, sin, cos):
    """tensor: (batch, seq, heads, head_dim); sin, cos: (batch, seq, head_dim / 2)"""
    sin = torch.repeat_interleave(sin[:, :, None, :], 2, 3)
    cos = torch.repeat_interleave(cos[:, :, None, :], 2, 3)
    return (tensor * cos) + (rotate_every_two(tensor) * sin)


class RotaryEmbedding(torch.nn.Module):
    def __init__(self, dim, max_position_embeddings, base, device=None):
        super().__init__()
        table = create_sinusoidal_positions(max_position_embeddings, dim, base, device)
        self.register_buffer("embed_positions", table, persistent=False)

    def forward(self, position_ids, dtype):
        sincos = self.embed_positions[position_ids].to(dtype)
        sin, cos = torch.split(sincos, sincos.shape[-1] // 2, dim=-1)
        return sin, cos
