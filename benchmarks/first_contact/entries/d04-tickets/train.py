"""Route support tickets to one of 12 queues with a small transformer encoder."""
import json
import random
import re
import sys
import time

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

CFG = dict(
    queues=12,
    train_tickets=2400,
    val_tickets=240,
    vocab_size=3000,
    max_len=160,
    d_model=64,
    heads=4,
    layers=2,
    batch_size=24,
    epochs=3,
    lr=6e-4,
    warmup=40,
    seed=3,
)
PAD, UNK = 0, 1


def make_tickets(n, seed, queues):
    rng = random.Random(seed)
    topic = {q: [f"{a}{q}" for a in ("invoice", "login", "router", "refund", "crash", "cable")] for q in range(queues)}
    filler = [f"word{i}" for i in range(1500)]
    for _ in range(n):
        q = rng.randrange(queues)
        length = min(150, int(rng.lognormvariate(3.2, 0.45)) + 4)
        words = [rng.choice(topic[q]) if rng.random() < 0.12 else rng.choice(filler) for _ in range(length)]
        yield {"text": "Hello, " + " ".join(words) + ". Thanks!", "queue": q}


def tokenize(text):
    return re.findall(r"[a-z]+[0-9]*|[.!?]", text.lower())


class Tickets(Dataset):
    def __init__(self, rows, vocab, max_len):
        self.max_len = max_len
        self.ids = [[vocab.get(t, UNK) for t in tokenize(r["text"])] for r in rows]
        self.queue = [r["queue"] for r in rows]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        ids = self.ids[i][: self.max_len]
        ids = ids + [PAD] * (self.max_len - len(ids))
        return torch.tensor(ids), self.queue[i]


class Router(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["d_model"]
        self.tok = nn.Embedding(cfg["vocab_size"], d, padding_idx=PAD)
        self.pos = nn.Embedding(cfg["max_len"], d)
        layer = nn.TransformerEncoderLayer(d, cfg["heads"], 4 * d, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, cfg["layers"], enable_nested_tensor=False)
        self.norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, cfg["queues"])

    def forward(self, ids):
        pad = ids == PAD
        pos = torch.arange(ids.shape[1], device=ids.device)
        x = self.encoder(self.tok(ids) + self.pos(pos), src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).to(x.dtype)
        x = (self.norm(x) * keep).sum(1) / keep.sum(1)
        return self.out(x)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        train_rows = list(make_tickets(cfg["train_tickets"], cfg["seed"], cfg["queues"]))
        val_rows = list(make_tickets(cfg["val_tickets"], cfg["seed"] + 1, cfg["queues"]))
        counts = {}
        for r in train_rows:
            for t in tokenize(r["text"]):
                counts[t] = counts.get(t, 0) + 1
        frequent = sorted(counts, key=counts.get, reverse=True)[: cfg["vocab_size"] - 2]
        self.vocab = {t: i + 2 for i, t in enumerate(frequent)}
        self.train_dl = DataLoader(
            Tickets(train_rows, self.vocab, cfg["max_len"]), cfg["batch_size"], shuffle=True, drop_last=True
        )
        self.val_dl = DataLoader(Tickets(val_rows, self.vocab, cfg["max_len"]), 2 * cfg["batch_size"])
        self.model = Router(cfg)
        self.opt = optim.AdamW(self.model.parameters(), lr=cfg["lr"])
        self.sched = optim.lr_scheduler.LambdaLR(self.opt, lambda s: min(1.0, (s + 1) / cfg["warmup"]))
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.history = []

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            tic, seen, total = time.time(), 0, 0.0
            self.model.train()
            for ids, queue in self.train_dl:
                loss = self.criterion(self.model(ids), queue)
                self.opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.opt.step()
                self.sched.step()
                seen += len(ids)
                total += loss.item() * len(ids)
            row = dict(epoch=epoch, loss=round(total / seen, 4), val_acc=self.validate(), sec=round(time.time() - tic, 1))
            self.history.append(row)
            print(json.dumps(row))

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        right = sum(int((self.model(ids).argmax(1) == q).sum()) for ids, q in self.val_dl)
        return round(right / len(self.val_dl.dataset), 4)

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "vocab": self.vocab, "history": self.history}, path)


if __name__ == "__main__":
    torch.manual_seed(CFG["seed"])
    random.seed(CFG["seed"])
    for arg in sys.argv[1:]:
        key, value = arg.split("=")
        CFG[key] = type(CFG[key])(value)
    trainer = Trainer(CFG)
    trainer.fit()
    trainer.save("router.pt")
