import copy
import time
from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import nn

from data import PAD, BucketedBatches, make_tickets


@dataclass
class Config:
    vocab: int = 3000
    desks: int = 12
    dim: int = 128
    heads: int = 4
    layers: int = 3
    hidden: int = 384
    batch_size: int = 32
    epochs: int = 6
    lr: float = 1e-3
    train_tickets: int = 5120
    val_tickets: int = 400


class TicketEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.words = nn.Embedding(cfg.vocab, cfg.dim, padding_idx=PAD)
        self.places = nn.Embedding(128, cfg.dim)
        layer = nn.TransformerEncoderLayer(cfg.dim, cfg.heads, cfg.hidden, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg.dim)
        self.out = nn.Sequential(nn.Dropout(0.2), nn.Linear(cfg.dim, cfg.desks))

    def forward(self, words, padding):
        h = self.words(words) + self.places.weight[: words.shape[1]]
        h = self.encoder(h, src_key_padding_mask=padding)
        keep = (~padding).unsqueeze(-1).to(h.dtype)
        pooled = (h * keep).sum(1) / keep.sum(1)
        return self.out(self.norm(pooled))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        tickets, labels = make_tickets(cfg.train_tickets + cfg.val_tickets, cfg.vocab, cfg.desks, seed=5)
        n = cfg.train_tickets
        self.train_batches = BucketedBatches(tickets[:n], labels[:n], cfg.batch_size, shuffle=True)
        self.val_batches = BucketedBatches(tickets[n:], labels[n:], 2 * cfg.batch_size, shuffle=False)
        self.model = TicketEncoder(cfg)
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=0.01, fused=True)
        self.best, self.best_state = 0.0, None
        self.history = defaultdict(list)

    def train_epoch(self):
        self.model.train()
        running = torch.zeros(())
        for words, padding, labels in self.train_batches:
            loss = self.loss(self.model(words, padding), labels)
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            running += loss.detach()
        return running.item() / len(self.train_batches)

    @torch.inference_mode()
    def validate(self):
        self.model.eval()
        hits = seen = 0
        for words, padding, labels in self.val_batches:
            guess = self.model(words, padding).argmax(1)
            hits += (guess == labels).sum().item()
            seen += len(labels)
        return hits / seen

    def fit(self):
        for epoch in range(1, self.cfg.epochs + 1):
            start = time.perf_counter()
            loss = self.train_epoch()
            accuracy = self.validate()
            self.history["loss"].append(loss)
            self.history["accuracy"].append(accuracy)
            if accuracy > self.best:
                self.best = accuracy
                self.best_state = copy.deepcopy(self.model.state_dict())
            print(f"epoch {epoch}  loss {loss:.3f}  val accuracy {accuracy:.3f}  {time.perf_counter() - start:.1f}s")
        self.model.load_state_dict(self.best_state)
        print("best", round(self.best, 4))


if __name__ == "__main__":
    torch.manual_seed(11)
    Trainer(Config()).fit()
