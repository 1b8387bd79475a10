"""GRPO on deskgym's tasks with TRL, on a CPU: `python examples/trl_grpo/train.py --steps 3`.

Without `--model`, a tiny Qwen2 with random weights is built here, and a tokenizer from the tasks'
own texts, so that nothing is downloaded. It shows that all parts fit together, and no more: such a
model writes noise, calls no tool and earns what doing nothing earns. `--model` names one that can
call tools; the rest stays as it is.
"""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from deskgym.adapters.trl import dataset, environment_factory
from deskgym.suite import load_suite

VOCABULARY: Final = 2_048
CONTEXT_TOKENS: Final = 16_384
SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


def tiny_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of bytes and frequent pieces of the texts, with a template that knows tools."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[2],
        chat_template=qwen3_chat_template,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def tiny_model(tokenizer: PreTrainedTokenizerFast) -> Qwen2ForCausalLM:
    """A Qwen2 of two small layers with random weights."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=CONTEXT_TOKENS,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen2ForCausalLM(config)


def texts_of(rows: Dataset) -> Iterator[str]:
    """What a model reads on these rows: prompts, and the tools' descriptions."""
    for name in rows.unique("environment"):
        for tool in load_suite(name).toolbox.values():
            yield json.dumps(tool.openai())
    for row in rows:
        yield from (message["content"] for message in row["prompt"])


def settings(folder: Path, steps: int, *, tokens_max: int) -> GRPOConfig:
    """The settings of a short run on a CPU: four rollouts of one prompt a step."""
    return GRPOConfig(
        output_dir=str(folder),
        max_steps=steps,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=tokens_max,
        max_tool_calling_iterations=48,
        learning_rate=1e-4,
        beta=0.0,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        seed=0,
        disable_tqdm=True,
    )


def trainer_for(suite: str, rows: Dataset, arguments: GRPOConfig, model: str | None) -> GRPOTrainer:
    """TRL's trainer with a suite's environments; the reward is theirs."""
    named: dict[str, Any] = {"model": model}
    if model is None:
        tokenizer = tiny_tokenizer(texts_of(rows))
        named = {"model": tiny_model(tokenizer), "processing_class": tokenizer}
    return GRPOTrainer(
        **named,
        args=arguments,
        train_dataset=rows,
        environment_factory=environment_factory(suite),
    )


def main() -> None:
    """Train for some steps and print each one's reward."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="service/damaged-lamp", help="a task's id, or a suite")
    parser.add_argument("--seeds", type=int, default=32, help="how many seeds of each task")
    parser.add_argument("--steps", type=int, default=3, help="how many steps of the optimizer")
    parser.add_argument("--model", help="a model that can call tools; a tiny random one otherwise")
    parser.add_argument("--tokens", type=int, default=96, help="how long a rollout may get")
    parser.add_argument("--out", type=Path, default=Path("out/trl"), help="where TRL writes")
    asked = parser.parse_args()
    rows = dataset(asked.task, range(asked.seeds))
    suite = asked.task.partition("/")[0]
    arguments = settings(asked.out, asked.steps, tokens_max=asked.tokens)
    trainer = trainer_for(suite, rows, arguments, asked.model)
    trainer.train()
    for entry in trainer.state.log_history:
        if "reward" in entry:
            print(f"step {entry['step']}: mean reward {entry['reward']:.4f}")


if __name__ == "__main__":
    main()
