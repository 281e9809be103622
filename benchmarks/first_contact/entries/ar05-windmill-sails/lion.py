import torch
from torch.optim import Optimizer


class Lion(Optimizer):
    """Chen et al., 2023: the sign of an interpolated momentum, with decoupled weight decay and the cautious mask
    of Liang et al., 2024."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, cautious=True):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, cautious=cautious))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            lr, decay, (beta1, beta2) = group["lr"], group["weight_decay"], group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]

                p.mul_(1 - lr * decay)
                update = (exp_avg * beta1 + grad * (1 - beta1)).sign()
                if group["cautious"]:
                    mask = (update * grad > 0).to(grad.dtype)
                    mask.div_(mask.mean().clamp(min=1e-3))
                    update = update * mask
                p.add_(update, alpha=-lr)
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss
