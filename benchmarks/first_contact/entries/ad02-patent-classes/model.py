import torch
import torch.nn as nn
import torch.nn.functional as F

from data import PAD


class PatentClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        dim = cfg["dim"]
        self.words = nn.Embedding(cfg["vocab_size"], dim, padding_idx=PAD)
        self.places = nn.Embedding(cfg["max_len"], dim)
        layer = nn.TransformerEncoderLayer(dim, cfg["heads"], cfg["ffn"], dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg["layers"], enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(cfg["dropout"])
        self.out = nn.Linear(dim, cfg["num_classes"])

    def forward(self, tokens):
        padding = tokens == PAD
        x = self.words(tokens) + self.places.weight[: tokens.size(1)]
        x = self.norm(self.encoder(x, src_key_padding_mask=padding))
        keep = (~padding).unsqueeze(-1).to(x.dtype)
        pooled = (x * keep).sum(1) / keep.sum(1)
        return self.out(self.dropout(pooled))


class MultiLabelLoss(nn.Module):
    """Binary cross entropy of every class, rare classes weighted up."""

    def __init__(self, class_weights):
        super().__init__()
        self.register_buffer("class_weights", class_weights)

    def forward(self, logits, targets):
        loss = 0.0
        for c in range(targets.size(1)):
            loss = loss + self.class_weights[c] * F.binary_cross_entropy_with_logits(logits[:, c], targets[:, c])
        return loss / targets.size(1)
