"""The graphs of an encoder-decoder of fairseq, which writes from left to right.

Shapes: see ``lev_plugins.export.tracing``; V words of the dictionary.
"""

import torch
import torch.nn.functional as F
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from lev_plugins.correction.gated_pretrained import GatedPretrained
from lev_plugins.editor.beam_search import GROWING, ROWS
from lev_plugins.export.tracing import Traced
from lev_plugins.pretrained import library
from lev_plugins.text.ids import EOS, PAD, UNK

# fairseq's output of an encoder, and the incremental state of a decoder
State = tuple[object, dict[str, object] | None]


class Start(nn.Module):
    """Encodes sources for any encoder-decoder of fairseq; the state is whatever encoder and decoder store."""

    def __init__(self, model: FairseqEncoderDecoderModel) -> None:
        super().__init__()
        self.model = model

    def begin(self, words: Tensor) -> tuple[Tensor, State]:
        """Returns the log-probabilities of the first word, and the state."""
        state = self.model.encoder(words), dict[str, object]()
        return self.next(torch.full_like(words[:, :1], EOS), state), state

    def next(self, words: Tensor, state: State) -> Tensor:
        """Returns the log-probabilities of the next word (B, 1, V), and changes the incremental state.

        Without one, it returns those of the word after each of ``words`` (B, T): (B, T, V).
        """
        output = self.model.decoder(words, encoder_out=state[0], incremental_state=state[1])
        return self.model.get_normalized_probs(output, log_probs=True)

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        scores, state = self.begin(inputs["words"])
        return scores[:, -1], *tensors_of(state)


class Step(Start):
    """Reads one more word of each text."""

    def __init__(self, model: FairseqEncoderDecoderModel, state: State, grows: list[bool]) -> None:
        """
        model: the encoder-decoder
        state: an example of its state
        grows: for each tensor of the state, whether it is longer after each word
        """
        super().__init__(model)
        (self.parts, self.structure), self.grows = tree_flatten(state), grows

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        words, *tensors_of_state = inputs.values()
        tensors = iter(tensors_of_state)
        parts = [next(tensors) if isinstance(part, Tensor) else part for part in self.parts]
        state = tree_unflatten(parts, self.structure)
        scores = self.next(words, state)
        return scores[:, -1], *(part for part, grows in zip(tensors_of(state), self.grows, strict=True) if grows)


class Score(Start):
    """Scores texts by teacher forcing."""

    def forward(self, inputs: dict[str, Tensor]) -> tuple[Tensor, ...]:
        """Returns the log-probability (B,) of a text (B, T) for each of the sources (B, S)."""
        words, texts = inputs["words"], inputs["texts"]
        scores = self.next(F.pad(texts[:, :-1], (1, 0), value=EOS), (self.model.encoder(words), None))
        return (scores.gather(2, texts[:, :, None])[:, :, 0].masked_fill(texts.eq(PAD), 0).sum(1),)


def tensors_of(state: State) -> list[Tensor]:
    return [part for part in tree_leaves(state) if isinstance(part, Tensor)]


def seq2seq_graphs(model: FairseqEncoderDecoderModel) -> dict[str, Traced]:
    """Returns the graphs of a model that writes from left to right."""
    if isinstance(model, GatedPretrained):
        library.register_caches()
    model.prepare_for_onnx_export_()
    start, (batch, source, length) = Start(model), (2, 5, 7)

    def sample(more: int) -> tuple[Tensor, State]:
        words = torch.full((batch + more, source + more), UNK)
        words[:, -1] = PAD
        _, state = start.begin(words)
        for size in range(2, length + more + 1):
            start.next(words.new_zeros((batch + more, size)), state)
        return words, state

    (words, state), (_, larger_state) = sample(0), sample(1)
    parts, axes, grows = dict[str, Tensor](), dict[str, dict[int, str]](), list[bool]()
    for number, (part, larger) in enumerate(zip(tensors_of(state), tensors_of(larger_state), strict=True)):
        sizes = {axis: size for axis, size in enumerate(part.shape) if larger.size(axis) != size}  # the dynamic ones
        names = {axis: ROWS if size == batch else "T" if size >= length else "S" for axis, size in sizes.items()}
        grows.append("T" in names.values())
        name = f"{GROWING if grows[-1] else 'constant'}.{number}"
        parts[name], axes[name] = part, names
    longer_parts = [f"longer.{name}" for name, is_longer in zip(parts, grows, strict=True) if is_longer]
    sources, step = {"words": words}, {"words": words.new_zeros((batch, length + 1)), **parts}
    pairs = {**sources, "texts": words.new_zeros((batch, length))}
    source_axes, text_axes = {"words": {0: ROWS, 1: "S"}}, {"texts": {0: ROWS, 1: "T"}}
    axes["words"] = {0: ROWS, 1: "N"}
    return {
        "start": Traced(start, (sources,), ["scores", *parts], source_axes),
        "step": Traced(Step(model, state, grows), (step,), ["scores", *longer_parts], axes),
        "score": Traced(Score(model), (pairs,), ["score"], source_axes | text_axes),
    }
