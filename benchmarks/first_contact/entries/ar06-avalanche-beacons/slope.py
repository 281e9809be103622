import torch


class BeaconSearch:
    """Searchers on a debris field with a transceiver: it shows distance and direction along the flux line of the
    nearest buried beacon, badly when far. All slopes are stepped at once."""

    observations, actions, limit = 10, 6, 60

    def __init__(self, slopes, seed):
        self.n, self.g = slopes, torch.Generator().manual_seed(seed)
        self.place, self.heading = torch.zeros(slopes, 2), torch.zeros(slopes)
        self.beacons, self.found = torch.zeros(slopes, 2, 2), torch.zeros(slopes, 2, dtype=torch.bool)
        self.age, self.shown = torch.zeros(slopes), torch.zeros(slopes, 3)
        self.reset(torch.ones(slopes, dtype=torch.bool))
        self.gap = self.nearest()[0]

    def reset(self, over):
        fresh = torch.rand(self.n, 7, generator=self.g)
        self.place = torch.where(over[:, None], fresh[:, :2] * torch.tensor([80.0, 6.0]), self.place)
        self.heading = torch.where(over, fresh[:, 2] * 6.28, self.heading)
        self.beacons = torch.where(over[:, None, None], (fresh[:, 3:] * torch.tensor([80.0, 90.0, 80.0, 90.0])).view(-1, 2, 2), self.beacons)
        self.found = self.found & ~over[:, None]
        self.age = torch.where(over, torch.zeros(()), self.age)
        self.shown = torch.where(over[:, None], torch.zeros(()), self.shown)

    def nearest(self):
        away = self.beacons - self.place[:, None]
        distance = away.norm(dim=2) + self.found * 1e4
        gap, which = distance.min(1)
        return gap.clamp_max(200.0), which, away.gather(1, which.view(-1, 1, 1).expand(-1, 1, 2))[:, 0]

    def observe(self):
        gap, which, away = self.nearest()
        bend = 0.6 * torch.sin(gap / 9 + which) + 0.02 * gap * torch.randn(self.n, generator=self.g)
        angle = torch.atan2(away[:, 1], away[:, 0]) - self.heading + bend
        reads = gap < 45
        now = torch.stack([gap / 45, angle.sin(), angle.cos()], 1) * reads[:, None]
        seen = torch.cat([now, self.shown, self.place / 90, self.found.sum(1, keepdim=True), self.age[:, None] / self.limit], 1)
        self.shown = now
        return seen

    def step(self, action):
        turn = torch.tensor([0.0, 0.5, -0.5, 1.5, -1.5, 0.0])[action]
        stride = torch.tensor([5.0, 4.0, 4.0, 1.0, 1.0, 1.5])[action]
        self.heading = self.heading + turn
        self.place = self.place + stride[:, None] * torch.stack([self.heading.cos(), self.heading.sin()], 1)
        self.age = self.age + 1
        gap, which, _ = self.nearest()
        hit = gap < 3
        reward = 0.02 * (self.gap - gap).clamp(-5, 5) - 0.02 + 1.0 * hit
        self.found = self.found | (hit[:, None] & (torch.arange(2) == which[:, None]))
        over = self.found.all(1) | (self.age >= self.limit)
        self.reset(over)
        self.gap = self.nearest()[0]
        return self.observe(), reward, over.float()
