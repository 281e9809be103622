"""Side effect classifier on top of the sentence encoder."""
import torch
from torch import nn

from encoder import SentenceEncoder


class SideEffectClassifier(nn.Module):
    def __init__(self, encoder_path, systems, hidden=256, dropout=0.3):
        super().__init__()
        self.encoder = SentenceEncoder.from_file(encoder_path)
        width = self.encoder.config["width"]
        self.attend = nn.Linear(width, 1)
        self.head = nn.Sequential(
            nn.Linear(2 * width, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, systems),
        )

    def train(self, mode=True):
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, input_ids, attention_mask):
        hidden = self.encoder(input_ids, attention_mask)
        score = self.attend(hidden).squeeze(-1).masked_fill(attention_mask == 0, -1e4)
        pooled = (score.softmax(1).unsqueeze(-1) * hidden).sum(1)
        return self.head(torch.cat([hidden[:, 0], pooled], 1))

    def head_parameters(self):
        return list(self.attend.parameters()) + list(self.head.parameters())
