"""GradNorm (Chen et al., 2018): loss weights that keep the tasks training at a similar pace."""
import torch


class GradNorm:
    def __init__(self, tasks, alpha=1.0, lr=0.02):
        self.weights = torch.ones(tasks, requires_grad=True)
        self.alpha = alpha
        self.optimizer = torch.optim.Adam([self.weights], lr=lr)
        self.first = None

    def weighted(self, losses):
        if self.first is None:
            self.first = losses.detach().clone()
        return self.weights.detach().clone() @ losses

    def update(self, losses, shared):
        """One step on the weights; the graph of the losses is kept for the step on the network."""
        norms = []
        for weight, loss in zip(self.weights, losses):
            grads = torch.autograd.grad(weight * loss, shared, retain_graph=True, create_graph=True)
            norms.append(grads[-2].norm())
        norms = torch.stack(norms)

        with torch.no_grad():
            pace = losses / self.first
            target = norms.mean() * (pace / pace.mean()) ** self.alpha
        self.optimizer.zero_grad()
        self.weights.grad = torch.autograd.grad((norms - target).abs().sum(), self.weights, retain_graph=True)[0]
        self.optimizer.step()

    @torch.no_grad()
    def renormalise(self):
        self.weights.clamp_(min=0.05)
        self.weights.mul_(len(self.weights) / self.weights.sum())

    def state_dict(self):
        return {"weights": self.weights.detach().clone(), "first": self.first,
                "optimizer": self.optimizer.state_dict()}
