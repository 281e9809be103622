from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical

from slope import BeaconSearch


@dataclass
class Plan:
    slopes: int = 64
    horizon: int = 24
    updates: int = 120
    passes: int = 3
    pieces: int = 4
    width: int = 160
    gamma: float = 0.98
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.01
    lr: float = 6e-4
    seed: int = 4


class Memory(nn.Module):
    """A GRU cell whose input half is a layer of its own, to be applied to a whole sequence at once."""

    def __init__(self, width):
        super().__init__()
        self.enter = nn.Linear(width, 3 * width)
        self.keep = nn.Linear(width, 3 * width)

    def forward(self, entered, state):
        reset, update, fresh = entered.chunk(3, 1)
        old_reset, old_update, old_fresh = self.keep(state).chunk(3, 1)
        fresh = torch.tanh(fresh + torch.sigmoid(reset + old_reset) * old_fresh)
        return torch.lerp(fresh, state, torch.sigmoid(update + old_update))


class Searcher(nn.Module):
    def __init__(self, observations, actions, width):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(observations, width), nn.LayerNorm(width), nn.Tanh())
        self.memory = Memory(width)
        self.policy = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, actions))
        self.value = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, seen, state):
        state = self.memory(self.memory.enter(self.trunk(seen)), state)
        return self.policy(state), self.value(state).squeeze(-1), state

    def unroll(self, seen, state, keep):
        entered = self.memory.enter(self.trunk(seen))
        states = []
        for now, kept in zip(entered.unbind(0), keep.unbind(0)):
            state = self.memory(now, state * kept.unsqueeze(1))
            states.append(state)
        states = torch.stack(states)
        return self.policy(states), self.value(states).squeeze(-1)


@torch.no_grad()
def collect(search, model, plan, seen, state, keep):
    rows = []
    start = state
    for _ in range(plan.horizon):
        logits, value, state = model(seen, state * keep.unsqueeze(1))
        chosen = Categorical(logits=logits, validate_args=False)
        action = chosen.sample()
        ahead, reward, over = search.step(action)
        rows.append((seen, keep, action, chosen.log_prob(action), value, reward, over))
        seen, keep = ahead, 1 - over
    last = model(seen, state * keep.unsqueeze(1))[1]
    return [torch.stack(part) for part in zip(*rows)], start, last, seen, state, keep


def advantages(value, reward, over, last, plan):
    ahead = torch.cat([value[1:], last.unsqueeze(0)])
    surprise = reward + plan.gamma * ahead * (1 - over) - value
    fade = plan.gamma * plan.lam * (1 - over)
    gained, kept = torch.zeros_like(last), []
    for now, passed in zip(surprise.flip(0).unbind(0), fade.flip(0).unbind(0)):
        gained = now + passed * gained
        kept.append(gained)
    return torch.stack(kept[::-1])


def main(plan):
    torch.manual_seed(plan.seed)
    search = BeaconSearch(plan.slopes, plan.seed)
    model = Searcher(search.observations, search.actions, plan.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=plan.lr, eps=1e-5, fused=True)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, plan.updates)
    seen, state, keep = search.observe(), torch.zeros(plan.slopes, plan.width), torch.ones(plan.slopes)
    for update in range(plan.updates):
        (looked, kept, action, old, value, reward, over), start, last, seen, state, keep = collect(
            search, model, plan, seen, state, keep)
        gain = advantages(value, reward, over, last, plan)
        aim = gain + value
        log = []
        for _ in range(plan.passes):
            for who in torch.randperm(plan.slopes).chunk(plan.pieces):
                logits, guess = model.unroll(looked[:, who], start[who], kept[:, who])
                chosen = Categorical(logits=logits, validate_args=False)
                ratio = (chosen.log_prob(action[:, who]) - old[:, who]).exp()
                good = gain[:, who]
                good = (good - good.mean()) / (good.std() + 1e-6)
                surrogate = torch.minimum(ratio * good, ratio.clamp(1 - plan.clip, 1 + plan.clip) * good).mean()
                worth = (guess - aim[:, who]).square().mean()
                loss = 0.5 * worth - surrogate - plan.entropy * chosen.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=True)
                optimizer.step()
                log.append(torch.stack([loss.detach(), worth.detach(), (ratio.detach() - 1 - ratio.detach().log()).mean()]))
        scheduler.step()
        if (update + 1) % 5 == 0:
            loss, worth, shift = torch.stack(log).mean(0).tolist()
            print(f"update {update + 1:3d}  reward {reward.sum(0).mean():.3f}  loss {loss:.4f}  value {worth:.4f}  "
                  f"shift {shift:.5f}  finished {over.sum():.0f}", flush=True)
    torch.save(model.state_dict(), "searcher.pt")


if __name__ == "__main__":
    main(Plan())
