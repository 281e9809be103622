"""The result document: its types, how it is made, its headline, and the questions every renderer asks it."""
