"""Sessions of system log events, drawn from services with their own habits."""
import torch


class SessionLog:
    """Every service walks over its own events; sessions switch service now and then."""

    def __init__(self, sessions, length, events=400, services=12, seed=0, habits=7):
        world = torch.Generator().manual_seed(habits)
        logits = torch.randn(services, events, events, generator=world) * 2.2
        logits += 3.0 * torch.randn(services, 1, events, generator=world)
        cumulative = torch.softmax(logits, -1).cumsum(-1)
        g = torch.Generator().manual_seed(seed)
        service = torch.randint(services, (sessions,), generator=g)
        event = torch.randint(events, (sessions,), generator=g)
        columns = [event]
        for _ in range(length):
            switch = torch.rand(sessions, generator=g) < 0.03
            service = torch.where(switch, torch.randint(services, (sessions,), generator=g), service)
            draw = torch.rand(sessions, 1, generator=g)
            event = torch.searchsorted(cumulative[service, event], draw).squeeze(1).clamp(max=events - 1)
            columns.append(event)
        self.events = torch.stack(columns, 1)
        self.vocabulary = events

    def __len__(self):
        return len(self.events)

    def batches(self, size, generator=None):
        order = torch.randperm(len(self), generator=generator) if generator else torch.arange(len(self))
        for rows in order.split(size):
            if generator is None or len(rows) == size:
                batch = self.events[rows]
                yield batch[:, :-1], batch[:, 1:]
