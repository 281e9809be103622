"""The result document in the formats people read: pure functions of the document."""
