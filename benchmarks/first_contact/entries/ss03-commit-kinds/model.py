import torch
import torch.nn as nn


class CommitClassifier(nn.Module):
    def __init__(self, vocab_size, max_length, num_classes, dim=128, heads=4, depth=3, dropout=0.1):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.positions = nn.Embedding(max_length, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Dropout(dropout), nn.Linear(dim, num_classes))

    def forward(self, input_ids, attention_mask):
        pos = torch.arange(input_ids.size(1), device=input_ids.device)
        x = self.tokens(input_ids) + self.positions(pos)
        x = self.encoder(x, src_key_padding_mask=~attention_mask)
        return self.head(self.norm(x[:, 0]))
