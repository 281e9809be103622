"""Arguments of DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from .trying import Apply, Net, losses, told


@pytest.fixture
def process_group() -> Iterator[None]:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_arguments_of_distributed_data_parallel(apply: Apply, process_group: None) -> None:
    parallel = nn.parallel.DistributedDataParallel
    plain = losses(lambda: parallel(Net()))
    changed = apply("ddp", gradient_as_bucket_view=True, bucket_cap_mb=1)
    assert losses(lambda: parallel(Net())) == plain
    assert told(changed) == (1, "")
    model = parallel(Net(), None, None, 0)
    assert (model.gradient_as_bucket_view, model.bucket_bytes_cap) == (True, 1 << 20)
    parallel(Net(), gradient_as_bucket_view=True, bucket_cap_mb=1)
    assert changed.held == 2
    unknown = apply("ddp", static_graph=True)
    unknown.wanted["magic"] = True  # as an argument that this torch does not have yet
    parallel(Net())
    assert (unknown.held, "magic" in unknown.why_not) == (0, True)
