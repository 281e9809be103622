import torch
import torch.nn.functional as F


def pgd(model, images, labels, epsilon, alpha, steps, generator=None):
    """Projected gradient descent in the maximum norm, from a random start."""
    noise = torch.empty_like(images).uniform_(-epsilon, epsilon, generator=generator)
    low, high = (images - epsilon).clamp_(min=0), (images + epsilon).clamp_(max=1)
    x = torch.clamp(images + noise, low, high)
    for _ in range(steps):
        x.requires_grad_(True)
        loss = F.cross_entropy(model(x), labels, reduction="sum")
        gradient, = torch.autograd.grad(loss, x)
        x = torch.clamp(x.detach().add_(gradient.sign_(), alpha=alpha), low, high)
    return x
