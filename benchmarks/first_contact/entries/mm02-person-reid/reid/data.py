import random
import re
from collections import defaultdict
from pathlib import Path

from PIL import Image
from torch.utils.data import Dataset, Sampler

NAME = re.compile(r"(\d+)_c(\d+)_")


class PersonCrops(Dataset):
    def __init__(self, folder, transform, relabel=False):
        self.transform = transform
        self.items = []
        for path in sorted(Path(folder).glob("*.jpg")):
            pid, cam = map(int, NAME.match(path.name).groups())
            self.items.append((path, pid, cam - 1))
        if relabel:
            label = {pid: i for i, pid in enumerate(sorted({pid for _, pid, _ in self.items}))}
            self.items = [(path, label[pid], cam) for path, pid, cam in self.items]

    @property
    def identities(self):
        return len({pid for _, pid, _ in self.items})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        path, pid, cam = self.items[i]
        with Image.open(path) as img:
            img = img.convert("RGB")
        return self.transform(img), pid, cam


class IdentitySampler(Sampler):
    """Batches of `people` identities with `per_person` crops each."""

    def __init__(self, items, people, per_person):
        self.people, self.per_person = people, per_person
        self.index = defaultdict(list)
        for i, (_, pid, _) in enumerate(items):
            self.index[pid].append(i)
        self.length = len(self.plan())

    def plan(self):
        groups = {}
        for pid, members in self.index.items():
            members = random.sample(members, len(members))
            groups[pid] = [members[k:k + self.per_person]
                           for k in range(0, len(members) - self.per_person + 1, self.per_person)]
        order, available = [], [pid for pid, g in groups.items() if g]
        while len(available) >= self.people:
            for pid in random.sample(available, self.people):
                order.extend(groups[pid].pop())
                if not groups[pid]:
                    available.remove(pid)
        return order

    def __iter__(self):
        return iter(self.plan())

    def __len__(self):
        return self.length
