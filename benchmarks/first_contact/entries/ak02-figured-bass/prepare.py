"""Writes a synthetic corpus of continuo excerpts: one JSON object a line with the slices (one for each bass note,
all the sounding notes spelled from low to high) and the figures an editor would put under the bass."""
import json
import os
import random

DEGREES = [0, 2, 4, -1, 1, 3, 5]            # I ii iii IV V vi vii on the line of fifths, from the tonic
NEXT = {0: [3, 4, 5, 1, 4], 1: [4, 6, 4], 2: [5, 3], 3: [4, 0, 1, 6], 4: [0, 0, 5, 3], 5: [1, 3, 4], 6: [0, 2]}
TRIADS = {0: "o", 1: "6", 2: "64"}
SEVENTHS = {0: "7", 1: "65", 2: "43", 3: "42"}
BEATS = ["0.5", "1", "1", "1", "2"]


def spell(fifth, octave):
    alter, letter = divmod(fifth + 1, 7)
    return "FCGDAEB"[letter] + ("#" * alter if alter > 0 else "b" * -alter) + str(octave)


def excerpt(rng, number):
    tonic = rng.randint(-4, 4)
    degree, slices, figures, beats = 0, [], [], []
    beat = 0.0
    for _ in range(rng.randint(5, 11)):
        root = tonic + DEGREES[degree]
        major = degree in (0, 3, 4)
        raised = not major and degree != 6 and rng.random() < 0.35
        third = root + (4 if major or raised else -3)
        chord = [root, third, root + (-6 if degree == 6 else 1)]
        seventh = rng.random() < (0.5 if degree in (4, 6) else 0.15)
        if seventh:
            chord.append(root - 2)
        inversion = rng.choice(range(len(chord))) if rng.random() < 0.6 else 0
        length = rng.choice(BEATS)
        notes = [f"{spell(chord[inversion], rng.choice([2, 3]))}:{length}"]
        upper = [tone for tone in chord if tone != chord[inversion]] + [rng.choice(chord)]
        rng.shuffle(upper)
        for place, tone in enumerate(upper):
            octave = 3 + (place + 1) // 2
            notes.append(f"{spell(tone, octave)}:{length}")
            if rng.random() < 0.3:
                notes.append(f"{spell(tone + rng.choice([2, -2, 5, -5]), octave)}:0.25")
        slices.append(" ".join(notes))
        beats.append(beat % 4)
        beat += float(length)
        figures.append((SEVENTHS if seventh else TRIADS)[inversion])
        if raised:
            figures.append("#")
        degree = rng.choice(NEXT[degree])
    return {"id": f"bc{number:05d}", "slices": slices, "beats": beats, "figures": figures}


def main():
    rng = random.Random(1728)
    os.makedirs("corpus", exist_ok=True)
    number = 0
    for part, count in (("train", 1600), ("dev", 160)):
        with open(f"corpus/{part}.jsonl", "w") as out:
            for _ in range(count):
                out.write(json.dumps(excerpt(rng, number)) + "\n")
                number += 1


if __name__ == "__main__":
    main()
