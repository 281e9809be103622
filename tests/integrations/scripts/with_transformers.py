"""A tiny training with the Trainer of transformers, offline: python with_transformers.py STEPS [callback [watch]]."""

import sys

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.set_num_threads(1)


class Tokens(Dataset):
    def __len__(self):
        return 512

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return {"input_ids": torch.randint(0, 100, (8,), generator=generator), "labels": torch.tensor(index % 2)}


def main(steps, callback, watch):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    callbacks = []
    if callback:
        from diagnose.integrations.transformers import DiagnoseCallback

        callbacks = [DiagnoseCallback(out="report", start=5, steps=2, watch=watch)]
    arguments = TrainingArguments(
        "out",
        max_steps=steps,
        per_device_train_batch_size=4,
        report_to=[],
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=100_000,
    )
    model = BertForSequenceClassification(config)
    trainer = Trainer(model, arguments, train_dataset=Tokens(), callbacks=callbacks)
    trainer.train()
    total = sum(parameter.double().sum().item() for parameter in model.parameters())
    print(f"trained {trainer.state.global_step} steps to {total:.9f}")
    for found in callbacks:
        print(found.window.report, found.window.document.headline)


main(int(sys.argv[1]), "callback" in sys.argv, "watch" in sys.argv)
