"""The phases of a recording: what each is for, when it ends, and what it gives."""
