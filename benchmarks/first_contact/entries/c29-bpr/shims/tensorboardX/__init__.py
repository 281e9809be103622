"""Small stand-in: imported, not used."""
SummaryWriter = None
