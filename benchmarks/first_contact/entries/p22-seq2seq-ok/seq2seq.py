"""Number words -> digits, GRU encoder/decoder with attention and scheduled sampling."""
import argparse
import random

import torch
import torch.nn as nn

PAD, BOS, EOS = 0, 1, 2


def sample_batch(bs, src_len, tgt_len, vocab, gen):
    src = torch.randint(3, vocab, (bs, src_len), generator=gen)
    tgt = (src[:, :tgt_len] * 5 + src[:, 1:tgt_len + 1]) % (vocab - 3) + 3
    tgt[:, -1] = EOS
    return src, tgt


class Encoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)

    def forward(self, src):
        return self.rnn(self.emb(src))


class Decoder(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.cell = nn.GRUCell(2 * d, d)
        self.query = nn.Linear(d, d)
        self.out = nn.Linear(2 * d, vocab)

    def forward(self, memory, h, tgt, p_teacher):
        tok = torch.full((tgt.size(0),), BOS, dtype=torch.long)
        logits = []
        for t in range(tgt.size(1)):
            score = torch.bmm(memory, self.query(h).unsqueeze(2)).squeeze(2)
            ctx = torch.bmm(score.softmax(1).unsqueeze(1), memory).squeeze(1)
            h = self.cell(torch.cat([self.emb(tok), ctx], 1), h)
            step = self.out(torch.cat([h, ctx], 1))
            logits.append(step)
            tok = tgt[:, t] if random.random() < p_teacher else step.argmax(1)
        return torch.stack(logits, 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=60)
    p.add_argument("--bs", type=int, default=64)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--vocab", type=int, default=200)
    p.add_argument("--clip", type=float, default=1.0)
    a = p.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    enc, dec = Encoder(a.vocab, a.dim), Decoder(a.vocab, a.dim)
    params = list(enc.parameters()) + list(dec.parameters())
    opt = torch.optim.Adam(params, lr=1e-3)
    loss_fn = nn.CrossEntropyLoss(ignore_index=PAD)
    running = 0.0
    for it in range(1, a.iters + 1):
        src, tgt = sample_batch(a.bs, 24, 16, a.vocab, gen)
        memory, h = enc(src)
        logits = dec(memory, h[0], tgt, p_teacher=max(0.3, 1 - it / 1000))
        loss = loss_fn(logits.view(-1, a.vocab), tgt.reshape(-1))
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(params, a.clip)
        opt.step()
        running += loss.item()
        acc = (logits.argmax(-1) == tgt).float().mean().item()
        if it % 20 == 0:
            print(f"iter {it} loss {running / 20:.4f} acc {acc:.3f} grad {norm:.2f}")
            running = 0.0


if __name__ == "__main__":
    main()
