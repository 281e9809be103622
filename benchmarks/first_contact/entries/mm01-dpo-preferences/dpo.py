import torch
import torch.nn.functional as F


def sequence_logps(logits, ids, mask):
    """Summed log probability of the answer tokens of each sequence."""
    logps = F.log_softmax(logits[:, :-1], dim=-1)
    token_logps = torch.gather(logps, 2, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return (token_logps * mask[:, 1:]).sum(-1)


def batch_logps(model, batch):
    logits = model(batch["input_ids"])
    logps = sequence_logps(logits, batch["input_ids"], batch["answer_mask"])
    return logps.chunk(2)


def dpo_loss(policy_chosen, policy_rejected, ref_chosen, ref_rejected, beta, label_smoothing=0.0):
    chosen_reward = beta * (policy_chosen - ref_chosen)
    rejected_reward = beta * (policy_rejected - ref_rejected)
    margin = chosen_reward - rejected_reward
    loss = -F.logsigmoid(margin) * (1 - label_smoothing) - F.logsigmoid(-margin) * label_smoothing
    return loss.mean(), chosen_reward.detach(), rejected_reward.detach()


class DPOObjective:
    def __init__(self, policy, reference, beta, label_smoothing=0.0):
        self.policy, self.reference = policy, reference
        self.beta, self.label_smoothing = beta, label_smoothing

    def __call__(self, batch):
        policy_chosen, policy_rejected = batch_logps(self.policy, batch)
        with torch.no_grad():
            ref_chosen, ref_rejected = batch_logps(self.reference, batch)
        loss, chosen, rejected = dpo_loss(
            policy_chosen, policy_rejected, ref_chosen, ref_rejected, self.beta, self.label_smoothing
        )
        metrics = {
            "loss": loss.detach(),
            "margin": (chosen - rejected).mean(),
            "accuracy": (chosen > rejected).float().mean(),
        }
        return loss, metrics
