import torch


def eruptions(number, length, generator):
    """Water level in a geyser's vent: it refills, overflows in a few preludes and then drains at once. The
    interval depends on the last eruption, so a window gives away when the next is due."""
    level = torch.zeros(number, length)
    fill = 0.02 + 0.03 * torch.rand(number, generator=generator)
    state = torch.rand(number, generator=generator)
    rate = fill.clone()
    for t in range(length):
        gust = 0.15 * torch.randn(number, generator=generator)
        state = state + rate * (1 + gust)
        prelude = (state > 0.8) & (torch.rand(number, generator=generator) < 0.2)
        state = torch.where(prelude, state - 0.12, state)
        out = state > 1.0
        drained = 0.6 * torch.rand(number, generator=generator)
        state = torch.where(out, drained, state)
        rate = torch.where(out, fill * (0.6 + 0.8 * drained), rate)
        level[:, t] = state
    return level + 0.02 * torch.randn(number, length, generator=generator)


def windows(level, past, ahead, stride):
    cut = level.unfold(1, past + ahead, stride).reshape(-1, past + ahead)
    return cut[:, :past].contiguous(), cut[:, past:].contiguous()
