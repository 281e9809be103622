"""What fixing a finding can gain."""
