import torch


class CrossEntropyPlanner:
    """For every crane a population of action sequences is rolled out in the ensemble and narrowed to its elites.

    A candidate's sequence is tried by every member; its cost is the mean over the members.
    """

    def __init__(self, model, cost, action_size, horizon=12, population=100, elites=10, iterations=3, momentum=0.1):
        self.model, self.cost, self.action_size = model, cost, action_size
        self.horizon, self.population, self.elites = horizon, population, elites
        self.iterations, self.momentum = iterations, momentum
        self.plan = None

    def forget(self):
        self.plan = None

    def rollout(self, state, actions):
        """actions (horizon, cranes * population, A); returns the cost of every row."""
        members = self.model.members
        s = state.repeat_interleave(self.population, dim=0).expand(members, -1, -1)
        total = torch.zeros(s.shape[:2])
        for a in actions:
            a = a.expand(members, -1, -1)
            s = self.model(s, a)
            total += self.cost(s, a)
        return total.mean(0)

    @torch.inference_mode()
    def __call__(self, state, generator):
        cranes = len(state)
        shape = (self.horizon, cranes, 1, self.action_size)
        if self.plan is None:
            mean = torch.zeros(shape)
        else:  # last plan, one step on
            mean = torch.cat([self.plan[1:], torch.zeros(1, *shape[1:])])
        std = torch.full(shape, 0.6)
        for _ in range(self.iterations):
            noise = torch.randn(self.horizon, cranes, self.population, self.action_size, generator=generator)
            actions = torch.addcmul(mean, std, noise).clamp_(-1, 1)
            cost = self.rollout(state, actions.flatten(1, 2)).view(cranes, self.population)
            best = cost.topk(self.elites, dim=1, largest=False).indices
            best = best[None, :, :, None].expand(self.horizon, -1, -1, self.action_size)
            chosen = actions.gather(2, best)
            mean = mean.lerp(chosen.mean(2, keepdim=True), 1 - self.momentum)
            std = std.lerp(chosen.std(2, keepdim=True), 1 - self.momentum)
        self.plan = mean
        return mean[0, :, 0].clone()
