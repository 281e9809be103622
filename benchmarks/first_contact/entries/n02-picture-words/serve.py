"""Caption service: takes images (as region features) from a queue and writes captions as JSON lines."""
import argparse
import collections
import json
import os
import tempfile

import torch

from model import Captioner
from search import BeamSearch

SYLLABLES = "ba de fi go ku la me ni po ru sa te vi wo xu ya zo".split()


class Vocabulary:
    def __init__(self, size):
        self.words = ["<pad>", "<start>", "<end>"]
        for i in range(size - 3):
            first, rest = divmod(i, len(SYLLABLES) ** 2)
            second, third = divmod(rest, len(SYLLABLES))
            self.words.append(SYLLABLES[first % len(SYLLABLES)] + SYLLABLES[second] + SYLLABLES[third])
        self.start, self.end = 1, 2

    def text(self, ids):
        words = []
        for i in ids:
            if i == self.end:
                break
            words.append(self.words[i])
        return " ".join(words)


class RequestQueue:
    """Stands for the message queue in front of the service: images of a few scene types."""

    def __init__(self, count, regions, dim, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.scenes = torch.randn(40, regions, dim, generator=self.generator)
        self.left, self.served = count, 0

    def take(self, limit):
        number = min(limit, self.left)
        if number == 0:
            return [], None
        scene = torch.randint(len(self.scenes), (number,), generator=self.generator)
        regions = self.scenes[scene] + 0.7 * torch.randn(number, *self.scenes.shape[1:], generator=self.generator)
        names = [f"image-{self.served + i:06d}" for i in range(number)]
        self.left -= number
        self.served += number
        return names, regions


class Service:
    def __init__(self, args, vocabulary):
        self.vocabulary = vocabulary
        model = Captioner(len(vocabulary.words), region_dim=args.region_dim)
        if args.weights:
            model.load_state_dict(torch.load(args.weights, map_location="cpu"))
        else:
            with torch.no_grad():
                model.head.bias[vocabulary.end] = 0.6
        model.eval()
        self.search = BeamSearch(model, vocabulary.start, vocabulary.end, args.beams, args.length)
        self.lengths = collections.Counter()

    def handle(self, names, regions):
        ids, scores = self.search(regions)
        answers = []
        for name, row, score in zip(names, ids.tolist(), scores.tolist()):
            caption = self.vocabulary.text(row)
            self.lengths[len(caption.split())] += 1
            answers.append({"image": name, "caption": caption, "score": round(score, 4)})
        return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1800)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--length", type=int, default=12)
    parser.add_argument("--regions", type=int, default=24)
    parser.add_argument("--region-dim", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=3000)
    parser.add_argument("--weights", default="")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "captions.jsonl"))
    args = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    service = Service(args, Vocabulary(args.vocabulary))
    queue = RequestQueue(args.images, args.regions, args.region_dim, args.seed)
    total, number = 0.0, 0
    with open(args.out, "w") as out:
        while True:
            names, regions = queue.take(args.batch)
            if not names:
                break
            answers = service.handle(names, regions)
            for answer in answers:
                out.write(json.dumps(answer) + "\n")
            total += sum(a["score"] for a in answers)
            number += 1
            if number % 20 == 0:
                print(f"batch {number:4d}  images {queue.served:5d}  mean score {total / queue.served:.4f}  "
                      f"last: {answers[-1]['caption'][:50]}")
    print("lengths", sorted(service.lengths.items()))


if __name__ == "__main__":
    main()
