"""What ends a step, and when its ticks came."""
