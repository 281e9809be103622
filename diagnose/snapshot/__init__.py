"""Snapshots of a GPU's memory that `torch.cuda.memory._dump_snapshot` wrote: read, replayed, told."""
