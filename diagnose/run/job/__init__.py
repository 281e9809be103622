"""A job of many ranks: several launchers, on one machine or many, record one run."""
