import torch


@torch.no_grad()
def fly(flocks, birds, frames, generator, every=4):
    """Topological flocking in the plane: each bird aligns with its seven nearest, keeps its distance and is drawn
    to the roost. Gives (flocks, frames, birds, 2)."""
    place = torch.randn(flocks, birds, 2, generator=generator)
    heading = torch.randn(flocks, 1, 2, generator=generator) + 0.3 * torch.randn(flocks, birds, 2, generator=generator)
    seen = []
    for frame in range(frames * every):
        distance = torch.cdist(place, place)
        near = distance.topk(8, dim=2, largest=False).indices[:, :, 1:]
        flat = near.flatten(1).unsqueeze(2).expand(-1, -1, 2)
        others = place.gather(1, flat).view(flocks, birds, 7, 2)
        ways = heading.gather(1, flat).view(flocks, birds, 7, 2)
        apart = place.unsqueeze(2) - others
        push = (apart / (apart.square().sum(3, keepdim=True) + 0.02)).mean(2)
        turn = 0.3 * (ways.mean(2) - heading) + 0.02 * push - 0.05 * place
        heading = heading + 0.25 * turn + 0.01 * torch.randn(flocks, birds, 2, generator=generator)
        place = place + 0.05 * heading
        if frame % every == every - 1:
            seen.append(place)
    return torch.stack(seen, 1)
