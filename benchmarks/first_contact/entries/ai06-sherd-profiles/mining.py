"""Which catalogue vessels stand against a batch of sherds."""
import torch


class NegativeSampler:
    """Half of the negatives come from types that the model confuses with the sherd's, half by frequency."""

    def __init__(self, recorded, catalogue, generator, neighbours=8, power=0.75):
        self.catalogue, self.generator, self.neighbours = catalogue, generator, neighbours
        self.types = int(catalogue.kind.max()) + 1
        self.each = len(catalogue) // self.types
        self.frequency = torch.bincount(recorded.kind, minlength=self.types).float() ** power
        self.close = None

    @torch.no_grad()
    def refresh(self, embedded):
        """Takes the catalogue's embeddings of the moment and notes each type's nearest other types."""
        centres = embedded.view(self.types, self.each, -1).mean(1)
        alike = centres @ centres.T
        alike.fill_diagonal_(-2.0)
        self.close = alike.topk(self.neighbours, dim=1).indices

    def member(self, kinds):
        return kinds * self.each + torch.randint(self.each, kinds.shape, generator=self.generator)

    def draw(self, kinds):
        """Positives (one for each sherd, of its type) and as many negatives, as catalogue indices."""
        hard = len(kinds) // 2
        pick = torch.randint(self.neighbours, (hard, 1), generator=self.generator)
        confused = self.close[kinds[:hard]].gather(1, pick).squeeze(1)
        common = torch.multinomial(self.frequency, len(kinds) - hard, replacement=True, generator=self.generator)
        return self.member(kinds), self.member(torch.cat([confused, common]))
