"""A trace file to typed tables: `reader.read_trace` is the entrance, `schema` the contract."""
