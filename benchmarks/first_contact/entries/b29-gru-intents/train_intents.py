import argparse
import random
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.autograd.set_detect_anomaly(True)

TEMPLATES = {
    "weather": ["will it {v} in {c} {d}", "what is the weather {d} in {c}", "do I need an umbrella {d}"],
    "music": ["play {s} by {a}", "put on some {s}", "turn the volume {u} please while {s} plays"],
    "alarm": ["wake me up at {h} {d}", "set an alarm for {h}", "cancel the alarm at {h}"],
    "travel": ["book a train to {c} {d}", "how far is {c} from {c}", "flights to {c} at {h} {d}"],
}
SLOTS = {
    "v": ["rain", "snow", "hail", "clear up"], "c": ["paris", "oslo", "rome", "lima", "quito", "bern"],
    "d": ["today", "tomorrow", "on friday", "next week"], "s": ["jazz", "blues", "metal", "the new song"],
    "a": ["nina", "miles", "bjork"], "u": ["up", "down"], "h": ["six", "seven thirty", "noon", "ten past four"],
}


def sentence(rng):
    label = rng.choice(sorted(TEMPLATES))
    t = rng.choice(TEMPLATES[label])
    for k, options in SLOTS.items():
        while "{" + k + "}" in t:
            t = t.replace("{" + k + "}", rng.choice(options), 1)
    return t.split(), sorted(TEMPLATES).index(label)


class IntentGRU(nn.Module):
    """GRU with additive attention over the states"""

    def __init__(self, n_words, n_classes, emb=48, hidden=128):
        super().__init__()
        self.emb = nn.Embedding(n_words, emb, padding_idx=0)
        self.cell = nn.GRUCell(emb, hidden)
        self.h0 = nn.Parameter(torch.zeros(1, hidden))
        self.score = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.out = nn.Linear(hidden, n_classes)

    def forward(self, x, lengths):
        e = self.emb(x)
        h = self.h0.expand(x.size(0), -1)
        states = []
        for t in range(x.size(1)):
            live = (t < lengths).unsqueeze(1)
            h = torch.where(live, self.cell(e[:, t], h), h)
            states.append(h)
        hs = torch.stack(states, 1)
        mask = torch.arange(x.size(1))[None] < lengths[:, None]
        w = self.score(hs).squeeze(2).masked_fill(~mask, -1e9).softmax(1)
        return self.out((w.unsqueeze(2) * hs).sum(1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sentences", type=int, default=4096)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=96)
    p.add_argument("--lr", type=float, default=2e-3)
    args = p.parse_args()
    rng = random.Random(0)
    torch.manual_seed(0)
    data = [sentence(rng) for _ in range(args.sentences)]
    words = {w: i + 2 for i, w in enumerate(sorted({w for s, _ in data for w in s}))}
    enc = [(torch.tensor([words[w] for w in s]), y) for s, y in data]

    def collate(batch):
        xs, ys = zip(*batch)
        return pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs]), torch.tensor(ys)

    split = int(0.9 * len(enc))
    train = DataLoader(enc[:split], batch_size=args.batch, shuffle=True, collate_fn=collate)
    test = DataLoader(enc[split:], batch_size=256, collate_fn=collate)
    model = IntentGRU(len(words) + 2, len(TEMPLATES))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.05)
    for epoch in range(args.epochs):
        model.train()
        start, total = time.time(), 0.0
        for x, n, y in train:
            opt.zero_grad()
            loss = loss_fn(model(x, n), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x, n).argmax(1) == y).sum().item() for x, n, y in test) / (len(enc) - split)
        print(f"epoch {epoch} loss {total / len(train):.4f} acc {acc:.3f} {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
