import torch


class BeamSearch:
    def __init__(self, model, start, end, beams=4, length=14, penalty=0.7):
        self.model = model
        self.start, self.end = start, end
        self.beams, self.length, self.penalty = beams, length, penalty

    @torch.inference_mode()
    def __call__(self, regions):
        rows, beams = len(regions), self.beams
        memory = self.model.encode(regions).repeat_interleave(beams, dim=0)
        tokens = torch.full((rows * beams, 1), self.start)
        scores = torch.full((rows, beams), float("-inf"))
        scores[:, 0] = 0.0
        done = torch.zeros(rows, beams, dtype=torch.bool)
        lengths = torch.zeros(rows, beams)
        for _ in range(self.length):
            logp = torch.log_softmax(self.model.decode(tokens, memory), dim=-1).view(rows, beams, -1)
            words = logp.shape[-1]
            # a finished hypothesis may only be carried on as it is
            logp = logp.masked_fill(done.unsqueeze(-1), float("-inf"))
            logp[..., self.end] = logp[..., self.end].masked_fill(done, 0.0)
            scores, place = (scores.unsqueeze(-1) + logp).view(rows, -1).topk(beams, dim=1)
            parent, word = place // words, place % words
            flat = (parent + beams * torch.arange(rows).unsqueeze(1)).flatten()
            tokens = torch.cat([tokens[flat], word.view(-1, 1)], dim=1)
            done = done.gather(1, parent)
            lengths = lengths.gather(1, parent) + (~done)
            done = done | (word == self.end)
            if done.all():
                break
        ranked = scores / lengths.clamp_min(1).pow(self.penalty)
        best = ranked.argmax(dim=1)
        picked = tokens.view(rows, beams, -1)[torch.arange(rows), best, 1:]
        return picked, ranked.gather(1, best.unsqueeze(1)).squeeze(1)
