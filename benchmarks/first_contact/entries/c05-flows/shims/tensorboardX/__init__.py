"""Small stand-in: torch's own event writer, which does the same work (a protobuf per scalar to a background writer)."""
from torch.utils.tensorboard import SummaryWriter
