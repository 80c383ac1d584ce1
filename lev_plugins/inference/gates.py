"""The gates of a gated model: it decodes freely, then reads its own output again to record the gates.

They are saved as one line of JSON per sentence.

Shapes: B batch, S source length, T target length.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lev_plugins.errors import UserError, require
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.json_schema import from_entries, parse_object
from lev_plugins.models.gated import GATES, GatedModel
from lev_plugins.text.tokenise import row_of


@dataclass(frozen=True)
class GatedSentence:
    """``gates["mask"]`` has one probability per source token, the other gates one per output token."""

    source: list[str]
    output: list[str]
    gates: dict[str, list[float]]
    noise: float | None = None  # share of the clean text's words that the noisy text lacks

    def __post_init__(self) -> None:
        for name, values in self.gates.items():
            tokens = self.source if name == "mask" else self.output
            require(
                name in GATES and len(values) == len(tokens),
                f"gate {name} has {len(values)} probabilities for {len(tokens)} tokens",
            )


def gates_of_lines(
    model: CheckpointDecoder, lines: list[str], encode: Callable[[str], str], max_tokens: int
) -> list[GatedSentence | None]:
    """The gates of each line; None if the line is too long for the model."""
    require(
        isinstance(model.models[0], GatedModel),
        "--path is not a gated model: train one with --arch gated_trans, gated_t5, gated_bart or gated_bert",
    )
    words = model.task.source_dictionary
    tokens = [torch.tensor(row_of(encode(line).split(), words)) for line in lines]
    dataset = model.task.build_dataset_for_inference(tokens, [len(line) for line in tokens])
    sentences: dict[int, GatedSentence] = {}
    for sample in model.samples(dataset, range(len(lines)), max_tokens):
        hypotheses = model.task.inference_step(model.generator, model.models, sample)
        written = [best[0]["tokens"] for best in hypotheses]
        sentences.update(zip(sample["id"].tolist(), gates_of(model, sample, written), strict=True))
    return [sentences.get(index) for index in range(len(lines))]


@torch.no_grad()
def gates_of(model: CheckpointDecoder, sample: dict[str, Any], written: list[Tensor]) -> Iterator[GatedSentence]:
    source_words, target_words = model.task.source_dictionary, model.task.target_dictionary
    pad, eos = target_words.pad(), target_words.eos()
    longest = max(len(row) for row in written)
    read = torch.full((len(written), longest), pad, device=model.device)  # (B, T)
    for place, row in enumerate(written):  # </s> a b </s>: each token is read one step after it was written
        read[place, : len(row)] = torch.cat([row.new_tensor([eos]), row[:-1]])
    _, extra = model.models[0](**{**sample["net_input"], "prev_output_tokens": read})
    gates = extra["gates"]
    require(
        any(getattr(gates, name) is not None for name in GATES),
        "the model of --path has no gates: it was trained with --gates ''",
    )
    for place, row in enumerate(written):
        real = gates.source[place].ne(source_words.pad())  # (S,)
        values = {name: getattr(gates, name) for name in GATES}
        kept = {
            name: (value[place, real] if name == "mask" else value[place, : len(row)]).tolist()
            for name, value in values.items()
            if value is not None
        }
        yield GatedSentence(
            [source_words[token] for token in gates.source[place, real].tolist()],
            [target_words[token] for token in row.tolist()],
            {name: [round(number, 4) for number in numbers] for name, numbers in kept.items()},
        )


# ---- files --------------------------------------------------------------------------------------------------------


def as_line(sentence: GatedSentence) -> str:
    """
    >>> as_line(GatedSentence(["a"], ["b"], {"mask": [0.25]}))
    '{"source": ["a"], "output": ["b"], "gates": {"mask": [0.25]}, "noise": null}'
    """
    return json.dumps(asdict(sentence), ensure_ascii=False)


def read_sentences(path: Path) -> list[GatedSentence]:
    sentences = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            sentences.append(from_entries(GatedSentence, parse_object(line, where), where))
        except UserError as error:
            raise UserError(f"{where} has no gates: give --saved a file written by --save ({error})") from error
    require(bool(sentences), f"{path} is empty: give --saved a file written by --save")
    return sentences
