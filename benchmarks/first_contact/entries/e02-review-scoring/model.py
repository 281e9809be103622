import torch
import torch.nn as nn


class ReviewEncoder(nn.Module):
    """Transformer encoder with mean pooling, three sentiment classes."""

    def __init__(self, vocab_size, dim=64, heads=4, depth=2, max_len=128, classes=3):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.pos = nn.Embedding(max_len, dim)
        block = nn.TransformerEncoderLayer(dim, heads, dim * 4, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(block, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids):
        pad = ids.eq(0)
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        x = self.norm(self.encoder(x, src_key_padding_mask=pad))
        keep = (~pad).unsqueeze(-1).to(x.dtype)
        return self.head((x * keep).sum(1) / keep.sum(1))
