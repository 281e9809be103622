"""Settings, updates and copies of models, tried between two steps once all is recorded."""
