"""Writes a model as ONNX graphs, which the other modules of ``lev_plugins.onnx`` run without torch.

encoder   a source -> the keys and values that each decoder block reads of it, and the vectors of unknown words
decide    a text -> what the deletion and the placeholder policy say of it, both in one pass
fill      a text with holes -> the best words for each hole, and their log-probabilities
start     of a model that writes from left to right: a source -> what its first word may be, and the state
step      texts, and their state -> what comes next, and the parts of the state that grew
score     sources, and a text for each -> how likely it is
label     of an enct5: texts -> the scores of their labels

What depends on the dictionary alone is looked up outside: for each word, its row of each table (``Reading``). A graph
has all the rest: vectors, blocks, policies, and the choice. All graphs share one file of weights.

Shapes: B sentences, S length of the sources, T of the texts, n holes, U unknown words, P groups of letters, K
candidates, C channels; L blocks of all decoder stacks.
"""

import hashlib
import logging
import warnings
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx.external_data_helper import set_external_data
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from lev_plugins.criterions.labelling import answers_of
from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.generators.refinement import ALTERNATIVES
from lev_plugins.layers.transformer import KeysValues, padding_of
from lev_plugins.layers.weight_cache import EvalCache
from lev_plugins.models.backbones import library
from lev_plugins.models.backbones.gated_pretrained import GatedPretrained
from lev_plugins.models.enct5 import EncT5
from lev_plugins.models.levt import LevT
from lev_plugins.models.levt_spelling import BatchVectors, SpelledSource, SpellingDecoder
from lev_plugins.models.levt_stacks import EncodedSource, LevTDecoder
from lev_plugins.onnx.folder import ENDINGS, GRAPHS, GROWING, INDEX, LABEL, ROWS, WEIGHTS, indexed, path_of
from lev_plugins.spelling.embedding import NGRAM_SCALE, CollectingTable, WordFeatures, WordVectors
from lev_plugins.spelling.word_scorer import CandidateTensors
from lev_plugins.text.ids import EOS, PAD, UNK

PAGE = 4096  # weights begin at multiples of it in their file, so that they can be mapped into memory
MAX_INLINE = 1024  # bytes of a tensor that stays in its graph


class Traced(NamedTuple):
    """A module to trace, an example of each input with the names of its dynamic sizes, and the names of the outputs."""

    module: nn.Module
    inputs: dict[str, tuple[Tensor, dict[int, str]]]
    outputs: list[str]


class Spelling(nn.Module):
    """A graph that reads words by their spelling."""

    def __init__(self, table: Any):
        """``table``: an ``NgramEmbedding``, or None."""
        super().__init__()
        self.table = table

    def of_groups(self, parts: Tensor, owners: Tensor, number: Tensor) -> Tensor:
        """Letter groups (P,), the words that have them (P,), groups per word (U,) -> vectors of unknown words (U, C)"""
        vectors = self.table.grams[parts]
        zeros = torch.zeros_like(number[:, None] * vectors[:1])
        total = zeros.scatter_add(0, owners[:, None].expand_as(vectors), vectors)
        return NGRAM_SCALE * (total / number[:, None])

    def vectors(self, words: Tensor, rare: Tensor) -> WordVectors:
        """Features of words (F, B, T) and vectors of the unknown ones (U, C) -> what the embedding reads"""
        vectors = self.table.vectors(None)
        means = CollectingTable(vectors.ngram_means.weight, more=rare)
        return vectors._replace(ngram_means=means, features=WordFeatures(*words.unbind(0)))


class Graph(Spelling):
    """The part that the graphs of a levt share."""

    def __init__(self, model: LevT):
        super().__init__(None if model.word_index is None else model.decoder.embedding.tokens)
        self.model, self.decoder = model, model.decoder

    def source(
        self, words: Tensor, memory: Tensor, real: Tensor, rare: Tensor | None = None, *beside: Tensor
    ) -> EncodedSource:
        """Assembles the encoded source that a decoder reads.

        words: features of a text (F, B, T)
        memory: keys and values of the source (2 L, B, H, S, C / H)
        real: True = a token of a source (B, S), not padding
        rare: vectors of the unknown words (U, C)
        beside: with a pre-trained encoder, its states (B, S, C), and the one that is aligned to each token (B, T)
        """
        stored = (KeysValues(memory[i], memory[i + 1]) for i in count(step=2))
        layers = {name: [next(stored) for _ in self.decoder.stack(name)] for name in self.decoder.stacks}
        if rare is None:
            return EncodedSource(layers, real[:, None, None])
        vectors = BatchVectors(self.table, self.vectors(words, rare))
        return SpelledSource(layers, real[:, None, None], vectors, F.pad(beside[0], (0, 0, 0, 1)) if beside else None)


class Encoder(Graph):
    """Encodes the sources."""

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        """(F, B, S), groups of letters, pieces -> memory (2 L, B, H, S, C / H), rare (U, C), beside (B, S, C)"""
        tokens, groups, pieces = words[0], inputs[:3], inputs[3:]
        rare = [self.of_groups(*groups)] if groups else []
        vectors = BatchVectors(self.table, self.vectors(words, *rare)) if rare else None
        padding, decoder, beside = padding_of(tokens, self.model.pad), self.decoder, []
        states = self.model.encoder(tokens, padding, vectors, pieces)
        if isinstance(decoder, SpellingDecoder) and decoder.aligned_projection is not None:
            beside = [decoder.aligned_projection(states)]
        keys_values = LevTDecoder.remember(decoder, states, padding).keys_values
        stored = [part for pairs in keys_values.values() for pair in pairs for part in pair]
        return torch.stack(stored), *rare, *beside


class Decide(Graph):
    """The deletion and the placeholder policy in one pass."""

    def forward(self, words: Tensor, memory: Tensor, real: Tensor, *spelling: Tensor) -> tuple[Tensor, ...]:
        """Returns log-probabilities and a number.

        deletion: of keeping and deleting each token (B, T, 2)
        nothing, best, something: of inserting nothing, the most likely number above 0, any number (B, T - 1)
        number: the most likely number above 0 (B, T - 1)
        """
        decoder, removed = self.decoder, RemovedTokens(*spelling[1:3]) if spelling else None
        source = self.source(words, memory, real, *spelling[:1], *spelling[3:])
        alignment = spelling[4] if len(spelling) > 3 else None
        states = decoder.states("deletion", words[0], source, removed, alignment)
        shares = decoder.sharing["deletion"] == decoder.sharing["placeholder"]
        placeholder_states = decoder.states(
            "placeholder", words[0], source, removed, alignment, states if shares else ()
        )
        counts = decoder.placeholder_logits(placeholder_states).log_softmax(-1)
        best, number = counts[..., 1:].max(-1)
        some = counts[..., 1:].logsumexp(-1)
        return decoder.deletion_logits(states).log_softmax(-1), counts[..., 0], best, some, number + 1


class Fill(Graph):
    """The token policy."""

    never: Tensor  # (V,) True = no placeholder is filled with this word

    def __init__(self, model: LevT, never: tuple[int, ...]):
        super().__init__(model)
        of_words = torch.zeros(model.decoder.vocabulary, dtype=torch.bool)
        self.register_buffer("never", of_words.index_fill(0, torch.tensor(never), True))

    def forward(self, words: Tensor, memory: Tensor, real: Tensor, holes: Tensor, *spelling: Tensor) -> Any:
        """Returns the ALTERNATIVES best words for each placeholder, best first, and their log-probabilities.

        holes: positions of the placeholders in (B * T), (n,)
        spelling: rare (U, C), the replaced words (B, T) and whether there is one (B, T), their candidates: near, alike
            and slips (n, K), and the shape of the replaced word (n,), SHAPES if there is none
        """
        decoder, removed, nearest = self.decoder, None, None
        if spelling:
            removed, nearest = RemovedTokens(*spelling[1:3]), CandidateTensors(*spelling[3:7])
        source = self.source(words, memory, real, *spelling[:1], *spelling[7:])
        alignment = spelling[8] if len(spelling) > 7 else None
        states = decoder.states("token", words[0], source, removed, alignment)
        scores = decoder.token_logits(states, holes, source, removed, nearest)
        # ONNX Runtime's own logarithm of a sum of exponentials loses the many small ones of a large dictionary
        # -inf in place of the scores: added to them, it would leave the NaN of damaged weights
        scores = scores.log_softmax(-1).masked_fill(self.never, -torch.inf)
        log_probs, words = scores.topk(min(ALTERNATIVES, len(self.never)))
        return words, log_probs


class Label(Spelling):
    """Scores the labels of texts."""

    def __init__(self, model: EncT5, names: list[str]):
        """``names``: of the inputs besides words and groups of letters."""
        super().__init__(model.encoder.tokens if model.word_index is not None else None)
        self.model, self.names = model, names

    def forward(self, words: Tensor, *inputs: Tensor) -> Tensor:
        """(F, B, S), the inputs of ``EncT5.forward``, with --spelling groups of letters -> scores"""
        batch = dict(zip(self.names, inputs, strict=False))
        if self.table is not None:
            vectors = self.vectors(words, self.of_groups(*inputs[len(self.names) :]))
            batch["words"] = self.table.look_up(words[0], vectors)
        return answers_of(self.model(words[0], **batch).logits, self.model.spec.kind)


class Start(nn.Module):
    """Encodes sources for any encoder-decoder of fairseq; the state is whatever encoder and decoder store."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def begin(self, words: Tensor) -> tuple[Tensor, tuple[Any, dict[str, Any]]]:
        state: tuple[Any, dict[str, Any]] = self.model.encoder(words), {}
        return self.next(torch.full_like(words[:, :1], EOS), state), state

    def next(self, words: Tensor, state: tuple[Any, dict[str, Any] | None]) -> Tensor:
        """(B, T) -> log-probabilities of what comes next: (B, 1, V), and the state changes; without one, (B, T, V)"""
        output = self.model.decoder(words, encoder_out=state[0], incremental_state=state[1])
        return self.model.get_normalized_probs(output, log_probs=True)

    def forward(self, words: Tensor) -> tuple[Tensor, ...]:
        scores, state = self.begin(words)
        return scores[:, -1], *tensors_of(state)


class Step(Start):
    """Reads one more word of each text."""

    def __init__(self, model: Any, state: Any, grown: list[bool]):
        super().__init__(model)
        (self.parts, self.form), self.grown = tree_flatten(state), grown

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        tensors = iter(inputs)
        parts = [next(tensors) if isinstance(part, Tensor) else part for part in self.parts]
        state = tree_unflatten(parts, self.form)
        scores = self.next(words, state)
        return scores[:, -1], *(part for part, grows in zip(tensors_of(state), self.grown, strict=True) if grows)


class Score(Start):
    """Scores texts by teacher forcing."""

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Sources (B, S), and a text for each (B, T) -> its log-probability (B,)"""
        (texts,) = inputs
        scores = self.next(F.pad(texts[:, :-1], (1, 0), value=EOS), (self.model.encoder(words), None))
        return (scores.gather(2, texts[:, :, None])[:, :, 0].masked_fill(texts.eq(PAD), 0).sum(1),)


def tensors_of(state: Any) -> list[Tensor]:
    return [part for part in tree_leaves(state) if isinstance(part, Tensor)]


# ---- files -----------------------------------------------------------------------------------------------------------


def write(model: Any, never: tuple[int, ...], folder: Path) -> None:
    """Writes the graphs of a model, in 32 and in 8 bits, and with --spelling, the index of its words.

    model: a levt, an enct5, or an encoder-decoder of fairseq
    never: words of a levt that fill no placeholder
    folder: the model folder
    """
    (folder / GRAPHS).mkdir()
    with warnings.catch_warnings(), torch.no_grad():
        # warnings that some sizes are fixed, as intended, and of torch about GPUs while oneDNN is switched off
        warnings.simplefilter("ignore")
        with torch.backends.mkldnn.flags(enabled=False):
            if isinstance(model, LevT):
                graphs = of_levt(model, never)
            else:
                graphs = of_enct5(model) if isinstance(model, EncT5) else of_writer(model)
            for name, traced in graphs.items():
                trace(traced, folder / path_of(name, 32))
    logging.disable(logging.WARNING)
    for name in graphs:
        exact, rounded = (folder / path_of(name, bits) for bits in ENDINGS)
        # 7 bits, so that processors without VNNI, which add up in 16 bits, do not overflow
        quantize_dynamic(exact, rounded, ["MatMul"], per_channel=True, reduce_range=True, weight_type=QuantType.QInt8)
    logging.disable(logging.NOTSET)
    share_weights([folder / path_of(name, bits) for bits in ENDINGS for name in graphs], folder / GRAPHS / WEIGHTS)
    if getattr(model, "word_index", None) is not None:
        words: dict[str, Any] = indexed(model.word_index)
        np.savez(folder / INDEX, **words)


def trace(traced: Traced, path: Path) -> None:
    """Writes one graph."""
    examples = tuple(tensor for tensor, _ in traced.inputs.values())
    keeping = [part for part in traced.module.eval().modules() if isinstance(part, EvalCache)]
    if keeping:
        traced.module(*examples)
    for part in keeping:
        if part.entry is not None:  # so that it is one of the graph's weights
            part.register_buffer("value", part.entry[1])
    torch.onnx.export(
        traced.module,
        examples,
        str(path),
        input_names=list(traced.inputs),
        output_names=traced.outputs,
        dynamic_axes={name: axes for name, (_, axes) in traced.inputs.items()},
        dynamo=False,
    )


# the sizes of the examples: all differ, so that tracing confuses none
SIZES = {"B": 2, "S": 5, "T": 7, "U": 3, "P": 11, "n": 4, "K": 6, "W": 8, "Q": 9, "R": 12}
Inputs = dict[str, tuple[Tensor, dict[int, str]]]


def example(shape: str, dtype: torch.dtype = torch.long) -> tuple[Tensor, dict[int, str]]:
    """Returns an input for tracing, and its dynamic sizes.

    >>> example("2 K")
    (tensor([[0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0]]), {1: 'K'})
    """
    sizes = [SIZES.get(name) or int(name) for name in shape.split()]
    axes = {axis: name for axis, name in enumerate(shape.split()) if name in SIZES}
    return torch.full(sizes, dtype != torch.long, dtype=dtype), axes  # numbers of words are 0, all else is 1


def groups_of(spells: bool) -> Inputs:
    return {"parts": example("P"), "owners": example("P"), "number": example("U", torch.float)} if spells else {}


def of_levt(model: LevT, never: tuple[int, ...]) -> dict[str, Traced]:
    spells, decoder, spelling, beside = model.word_index is not None, model.decoder, Inputs(), Inputs()
    blocks, features = sum(len(decoder.stack(name)) for name in decoder.stacks), 7 if spells else 1
    attention = decoder.stack("shared")[0].cross_attn
    heads, dim = attention.heads, attention.out_proj.out_features
    memory = example(f"{2 * blocks} B {heads} S {dim // heads}", torch.float)
    text = {"words": example(f"{features} B T"), "memory": memory, "real": example("B S", torch.bool)}
    read = {"words": example(f"{features} B S"), **groups_of(spells)}
    candidates, holes = Inputs(), {"holes": example("n")}
    if spells:
        spelling = {"rare": example(f"U {dim}", torch.float), "removed": example("B T"), "count": example("B T")}
        candidates = {"near": example("n K"), "alike": example("n K", torch.float), "slips": example("n K")}
        candidates["shape"] = example("n")
    if model.encoder.backbone is not None:
        read |= {"pieces": example("R W"), "where": example("Q"), "word": example("Q")}
        beside = {"beside": example(f"B S {dim}", torch.float), "places": example("B T")}
    said = ["deletion", "nothing", "best", "something", "number"]
    return {
        "encoder": Traced(Encoder(model), read, ["memory"] + ["rare"] * spells + ["beside"] * bool(beside)),
        "decide": Traced(Decide(model), {**text, **spelling, **beside}, said),
        "fill": Traced(Fill(model, never), {**text, **holes, **spelling, **candidates, **beside}, ["best", "chosen"]),
    }


def of_enct5(model: EncT5) -> dict[str, Traced]:
    kind, spells = model.spec.kind, model.word_index is not None
    places = SIZES["B"] * SIZES["T"]
    read: Inputs = {"latents": example("B T"), "where": (torch.arange(places), {0: "n"})}
    if kind == "multilabel":
        read["asked"] = example("T")[0], {0: "L"}
    if kind == "tagging":
        read |= {name: example("B T") for name in ("decoder_segments", "latent_encdec_segments")}
        read["encdec_segments"] = example("B S")
    words = {"words": example(f"{4 if spells else 1} B S")}
    return {LABEL: Traced(Label(model, list(read)), {**words, **read, **groups_of(spells)}, ["scores"])}


def of_writer(model: Any) -> dict[str, Traced]:
    if isinstance(model, GatedPretrained):
        library.register_caches()
    model.prepare_for_onnx_export_()
    start, (batch, source, length) = Start(model), (2, 5, 7)

    def sample(more: int) -> tuple[Tensor, Any]:
        words = torch.full((batch + more, source + more), UNK)
        words[:, -1] = PAD
        _, state = start.begin(words)
        for size in range(2, length + more + 1):
            start.next(words.new_zeros((batch + more, size)), state)
        return words, state

    (words, state), (_, other) = sample(0), sample(1)  # what depends on a size has another one
    parts, grown = Inputs(), list[bool]()
    for number, (part, larger) in enumerate(zip(tensors_of(state), tensors_of(other), strict=True)):
        sizes = {axis: size for axis, size in enumerate(part.shape) if larger.size(axis) != size}
        axes = {axis: ROWS if size == batch else "T" if size >= length else "S" for axis, size in sizes.items()}
        grown.append("T" in axes.values())
        parts[f"{GROWING if grown[-1] else 'given'}{number}"] = part, axes
    growing = [f"{name} and more" for name, grows in zip(parts, grown, strict=True) if grows]
    text: Inputs = {"words": (words.new_zeros((batch, length + 1)), {0: ROWS, 1: "N"})}
    return {
        "start": Traced(start, {"words": (words, {0: ROWS, 1: "S"})}, ["scores", *parts]),
        "step": Traced(Step(model, state, grown), {**text, **parts}, ["scores", *growing]),
        "score": Traced(Score(model), {"words": (words, {0: "B", 1: "S"}), "texts": example("B T")}, ["score"]),
    }


def share_weights(paths: list[Path], weights: Path) -> None:
    """Move the large tensors of several graphs into one file, each of them once."""
    places: dict[str, int] = {}
    with weights.open("wb") as file:
        for path in paths:
            model = onnx.load(path)
            for tensor in model.graph.initializer:
                data = onnx.numpy_helper.to_array(tensor).tobytes()
                if len(data) <= MAX_INLINE:
                    continue
                digest = hashlib.sha256(data).hexdigest()
                if digest not in places:
                    file.write(bytes(-file.tell() % PAGE))
                    places[digest] = file.tell()
                    file.write(data)
                tensor.raw_data = data  # where the next line looks for them
                set_external_data(tensor, weights.name, places[digest], len(data))
                tensor.ClearField("raw_data")
            path.write_bytes(model.SerializeToString())
