"""One arm of trainer_test.py: an epoch of a tiny model under accelerate, and under transformers' Trainer, as JSON.

trainer_arm.py DEVICE: "flagos", "cpu" or "cuda"; ACCELERATE_TORCH_DEVICE=flagos has accelerate choose flagos. A native
arm needs FLAGOS_DISABLE=1. Prints a digest of what each trained, its losses, and the device it was on.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import warnings
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
os.environ["HF_HUB_OFFLINE"] = "1"  # weights are random; nothing may be downloaded
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch.utils.data  # noqa: E402
from accelerate import Accelerator  # noqa: E402
from accelerate.state import AcceleratorState  # noqa: E402
from torch import nn  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments  # noqa: E402

DEVICE = sys.argv[1]
if DEVICE == "flagos":
    import flagos

VOCABULARY, LENGTH, ROWS, BATCH = 64, 16, 32, 8


class Sentences(torch.utils.data.Dataset):
    """Random tokens, the same in each arm."""

    def __init__(self) -> None:
        self.ids = torch.randint(VOCABULARY, (ROWS, LENGTH), generator=torch.Generator().manual_seed(2))

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, row: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.ids[row], "labels": self.ids[row]}


def tiny_model() -> nn.Module:
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=2,
                                      bos_token_id=None, eos_token_id=None, pad_token_id=None))


def trained(model: nn.Module, losses: list[Any]) -> dict[str, Any]:
    """A digest of the parameters' bits, beside the losses."""
    sha = hashlib.sha256()
    for name, value in sorted(model.state_dict().items()):
        host = value.detach().cpu().contiguous()
        sha.update(f"{name}{host.dtype}{tuple(host.shape)}".encode() + host.view(-1).view(torch.uint8).numpy().tobytes())
    device = next(model.parameters()).device.type
    return {"device": device, "results": {"parameters": sha.hexdigest()[:16], "losses": losses}}


def with_accelerate(**settings: Any) -> dict[str, Any]:
    """The loop that accelerate's documentation has: prepare, backward, clip, step, gather."""
    AcceleratorState._reset_state(reset_partial_state=True)  # one process, several settings
    accelerator = Accelerator(cpu=DEVICE == "cpu", gradient_accumulation_steps=2, **settings)
    model = tiny_model().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(1)
    loader = torch.utils.data.DataLoader(Sentences(), batch_size=BATCH, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss).mean().item())
    return trained(accelerator.unwrap_model(model), losses)


def with_trainer(**settings: Any) -> dict[str, Any]:
    """An epoch with evaluation, a checkpoint, and the learning rate's schedule."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, num_train_epochs=1, per_device_train_batch_size=BATCH, learning_rate=1e-2, seed=3,
            logging_steps=1, eval_strategy="epoch", save_strategy="epoch", report_to="none", disable_tqdm=True,
            use_cpu=DEVICE == "cpu", **settings,
        )
        trainer = Trainer(tiny_model(), arguments, train_dataset=Sentences(), eval_dataset=Sentences())
        trainer.train()
        kept = ("loss", "grad_norm", "learning_rate", "eval_loss")
        return trained(trainer.model, [{k: row[k] for k in kept if k in row} for row in trainer.state.log_history])


def main() -> None:
    runs = {
        "accelerate": with_accelerate,
        "accelerate bf16": lambda: with_accelerate(mixed_precision="bf16"),
        "trainer": with_trainer,
        "trainer, accumulated": lambda: with_trainer(gradient_accumulation_steps=2, gradient_checkpointing=True),
    }
    done: dict[str, Any] = {}
    for name, run in runs.items():
        if DEVICE == "flagos":
            flagos.reset_stats()
        done[name] = run()
        if DEVICE == "flagos":
            counts = flagos.stats().values()
            done[name]["hits"] = sum(each.hits for each in counts)
    print("\n" + json.dumps(done))


if __name__ == "__main__":
    main()
