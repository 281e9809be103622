"""Stand-in for scikit-learn: what SAINT uses of it."""
