"""Recording from inside a trainer: `diagnose.integrations.lightning`, `diagnose.integrations.transformers`.

Each is imported where its framework is used, and needs nothing else.
"""
