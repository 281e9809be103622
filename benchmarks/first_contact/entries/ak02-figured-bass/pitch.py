"""Spelled pitches. Figures depend on spelling (an augmented fourth is no diminished fifth), hence no MIDI numbers:
a note is its place on the line of fifths (F = -1, C = 0, G = 1 ...), its octave and its duration in beats."""
import re

NOTE = re.compile(r"^(?P<letter>[A-G])(?P<alter>#*|b*)(?P<octave>\d):(?P<beats>[\d.]+)$")
FIFTHS = {"F": -1, "C": 0, "G": 1, "D": 2, "A": 3, "E": 4, "B": 5}


class Note:
    def __init__(self, fifth, octave, beats):
        self.fifth = fifth
        self.octave = octave
        self.beats = beats

    @classmethod
    def parse(cls, text):
        match = NOTE.match(text)
        if match is None:
            raise ValueError(f"not a note: {text!r}")
        alter = match.group("alter")
        fifth = FIFTHS[match.group("letter")] + 7 * (alter.count("#") - alter.count("b"))
        return cls(fifth, int(match.group("octave")), float(match.group("beats")))

    def transpose(self, steps):
        return Note(self.fifth + steps, self.octave, self.beats)


def parse_slice(text):
    return [Note.parse(word) for word in text.split()]
