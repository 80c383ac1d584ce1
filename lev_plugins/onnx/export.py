"""Writes a model as ONNX graphs, which the other modules of ``lev_plugins.onnx`` run without torch.

encoder   a source -> the keys and values that each decoder block reads of it, and the vectors of unknown words
decide    a text -> what the deletion and the placeholder policy say of it, both in one pass
fill      a text with placeholders -> the best words for each of them, and their log-probabilities
start     of a model that writes from left to right: a source -> what its first word may be, and the state
step      texts, and their state -> what comes next, and the parts of the state that grew
score     sources, and a text for each -> how likely it is
label     of an enct5: texts -> the scores of their labels

What depends on the dictionary alone is looked up outside: for each word, its row of each table. ``onnx.word_features``
does that. A graph has all the rest: vectors, blocks, policies, and the choice. All graphs share one file of weights;
``onnx.names`` has the names of their inputs and outputs.

Shapes: B sentences, S length of the sources, T of the texts, n placeholders, U unknown words, P groups of letters, K
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
from fairseq.models import FairseqEncoderDecoderModel
from onnx.external_data_helper import set_external_data
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from lev_plugins.criterions.labelling import answers_of
from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.generators.refinement import ALTERNATIVES
from lev_plugins.layers.transformer import KeysValues, padding_of
from lev_plugins.layers.weight_cache import EvalCache
from lev_plugins.model_folder import GRAPHS
from lev_plugins.models.backbones import library
from lev_plugins.models.backbones.gated_pretrained import GatedPretrained
from lev_plugins.models.enct5 import EncT5
from lev_plugins.models.levt import LevT
from lev_plugins.models.levt_spelling import BatchVectors, SpelledSource, SpellingDecoder
from lev_plugins.models.levt_stacks import EncodedSource
from lev_plugins.onnx import names
from lev_plugins.onnx.compact import TABLE_MAX, CompactTables, CompactVectors, compact, rounded
from lev_plugins.onnx.folder import ENDINGS, INDEX, WEIGHTS, path_of, stored_arrays
from lev_plugins.spelling.embedding import (
    NGRAM_SCALE,
    CollectingTable,
    IntendedWordEmbedding,
    NgramEmbedding,
    WordFeatures,
    WordVectors,
)
from lev_plugins.spelling.word_scorer import CandidateTensors
from lev_plugins.text.ids import EOS, PAD, UNK

ALIGNED = 64  # weights begin at multiples of it in their file, so that they can be used where they are mapped
MAX_INLINE = 256  # bytes of a tensor that stays in its graph


class Traced(NamedTuple):
    """A module to trace, an example of each input with the names of its dynamic sizes, and the names of the outputs."""

    module: nn.Module
    inputs: dict[str, tuple[Tensor, dict[int, str]]]
    outputs: list[str]


class Spelling(nn.Module):
    """A graph that reads words by their spelling."""

    table: NgramEmbedding  # only with --spelling

    def __init__(self, tokens: object) -> None:
        """``tokens``: the embedding of words."""
        super().__init__()
        if isinstance(tokens, NgramEmbedding):
            self.table = tokens

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return self.table.grams[ngrams]

    def ngram_means(self, ngrams: Tensor, owners: Tensor, counts: Tensor) -> Tensor:
        """Returns the vectors of the unknown words (U, C).

        ngrams: (P,) of all these words
        owners: (P,) the word that has each n-gram
        counts: (U,) the n-grams of each word, at least 1
        """
        vectors = self.ngram_vectors(ngrams)
        zeros = torch.zeros_like(counts[:, None] * vectors[:1])
        total = zeros.scatter_add(0, owners[:, None].expand_as(vectors), vectors)
        return NGRAM_SCALE * (total / counts[:, None])

    def vectors(self, words: Tensor, unknown: Tensor) -> WordVectors:
        """Returns what the embedding reads of the features of words (F, B, T) and the vectors of the unknown ones."""
        vectors = self.table.vectors(None)
        means = CollectingTable(vectors.ngram_means.weight, more=unknown)
        return vectors._replace(ngram_means=means, features=WordFeatures(*words.unbind(0)))


class Graph(Spelling):
    """The part that the graphs of a levt share."""

    table: IntendedWordEmbedding

    def __init__(self, model: LevT, tables: CompactTables | None = None) -> None:
        """
        model: a levt
        tables: with its ``compact`` copy, the vectors of words in 8 bits
        """
        super().__init__(model.decoder.embedding.tokens)
        self.model, self.decoder, self.tables = model, model.decoder, tables

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return super().ngram_vectors(ngrams) if self.tables is None else self.tables.ngram_vectors(ngrams)

    def look_up(self, words: Tensor, unknown: Tensor) -> BatchVectors:
        """Returns what looks up the vectors of tokens.

        words: their features (F, B, T)
        unknown: the vectors of the unknown words, or of all words of which the n-grams are read
        """
        if self.tables is None:
            return BatchVectors(self.table, self.vectors(words, unknown))
        vectors: Any = CompactVectors(self.tables, unknown, WordFeatures(*words.unbind(0)))
        return BatchVectors(self.table, vectors)

    def spelling(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Returns the vectors of unknown words and the removed words, as the inputs have them or their n-grams do."""
        return inputs if self.tables is None else (self.ngram_means(*inputs[:3]), *inputs[3:])

    def source(
        self, words: Tensor, memory: Tensor, mask: Tensor, unknown: Tensor | None = None, *aligned: Tensor
    ) -> EncodedSource:
        """Assembles the encoded source that a decoder reads.

        words: features of a text (F, B, T)
        memory: keys and values of the source (2 L, B, H, S, C / H)
        mask: (B, S) True = a token of a source, not padding
        unknown: vectors of the unknown words (U, C)
        aligned: with a pre-trained encoder, its states (B, S, C), and the one that is aligned to each token (B, T)
        """
        pairs = (KeysValues(memory[i], memory[i + 1]) for i in count(step=2))
        layers = {name: [next(pairs) for _ in self.decoder.stack(name)] for name in self.decoder.stacks}
        if unknown is None:
            return EncodedSource(layers, mask[:, None, None])
        return SpelledSource(
            layers,
            mask[:, None, None],
            self.look_up(words, unknown),
            F.pad(aligned[0], (0, 0, 0, 1)) if aligned else None,
        )


class Encoder(Graph):
    """Encodes the sources."""

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Returns the memory (2 L, B, H, S, C / H), vectors of unknown words (U, C), and states to align (B, S, C).

        words: features of the sources (F, B, S)
        inputs: n-grams of the unknown words, pieces
        """
        tokens, ngrams, pieces = words[0], inputs[:3], inputs[3:]
        unknown = [self.ngram_means(*ngrams)] if ngrams else []
        vectors = self.look_up(words, unknown[0]) if unknown else None
        padding, decoder, aligned = padding_of(tokens, self.model.pad), self.decoder, []
        states = self.model.encoder(tokens, padding, vectors, pieces)
        if isinstance(decoder, SpellingDecoder) and decoder.aligned_projection is not None:
            aligned = [decoder.aligned_projection(states)]
        keys_values = decoder.keys_values(states, padding)
        memory = [tensor for pairs in keys_values.values() for pair in pairs for tensor in pair]
        return torch.stack(memory), *([] if self.tables else unknown), *aligned


class Decide(Graph):
    """The deletion and the placeholder policy in one pass."""

    def forward(self, words: Tensor, memory: Tensor, mask: Tensor, *spelling: Tensor) -> tuple[Tensor, ...]:
        """Returns log-probabilities and a number.

        deletion: of keeping and deleting each token (B, T, 2)
        nothing, best, something: of inserting nothing, the most likely number above 0, any number (B, T - 1)
        number: the most likely number above 0 (B, T - 1)
        """
        spelling = self.spelling(spelling) if spelling else ()
        decoder, removed = self.decoder, RemovedTokens(*spelling[1:3]) if spelling else None
        source = self.source(words, memory, mask, *spelling[:1], *spelling[3:])
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

    never: Tensor  # words that fill no placeholder

    def __init__(self, model: LevT, never: tuple[int, ...], tables: CompactTables | None = None) -> None:
        """``never``: words that fill no placeholder."""
        super().__init__(model, tables)
        self.register_buffer("never", torch.tensor(never))

    def forward(
        self, words: Tensor, memory: Tensor, mask: Tensor, placeholders: Tensor, *spelling: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns the ALTERNATIVES best words for each placeholder, best first, and their log-probabilities.

        placeholders: their positions in (B * T), (n,)
        spelling: vectors of unknown words (U, C), the replaced words (B, T), whether there is one (B, T), and the
            fields of ``CandidateTensors``; the shape of a replaced word is SHAPES if there is none
        """
        decoder, removed, nearest, columns = self.decoder, None, None, 3 + len(names.CANDIDATES)
        if spelling:
            spelling = self.spelling(spelling)
            removed, nearest = RemovedTokens(*spelling[1:3]), CandidateTensors(*spelling[3:columns])
        source = self.source(words, memory, mask, *spelling[:1], *spelling[columns:])
        alignment = spelling[columns + 1] if len(spelling) > columns else None
        states = decoder.states("token", words[0], source, removed, alignment)
        scores = decoder.token_logits(states, placeholders, source, removed, nearest)
        # ONNX Runtime's own logarithm of a sum of exponentials loses the many small ones of a large dictionary
        # -inf in place of the scores: added to them, it would leave the NaN of damaged weights
        scores = scores.log_softmax(-1).index_fill(1, self.never, -torch.inf)
        log_probs, words = scores.topk(min(ALTERNATIVES, decoder.vocabulary))
        return words, log_probs


class Label(Spelling):
    """Scores the labels of texts."""

    def __init__(self, model: EncT5, input_names: list[str]) -> None:
        """``input_names``: parameters of ``EncT5.forward``."""
        super().__init__(model.encoder.tokens)
        self.model, self.input_names = model, input_names

    def forward(self, words: Tensor, *inputs: Tensor) -> Tensor:
        """Returns the scores of features of texts (F, B, S) and further inputs; with --spelling, n-grams are last."""
        batch = dict(zip(self.input_names, inputs, strict=False))
        if self.model.word_index is not None:
            vectors = self.vectors(words, self.ngram_means(*inputs[len(self.input_names) :]))
            batch["words"] = self.table.look_up(words[0], vectors)
        return answers_of(self.model(words[0], **batch).logits, self.model.spec.kind)


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

    def forward(self, words: Tensor) -> tuple[Tensor, ...]:
        scores, state = self.begin(words)
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
        (self.parts, self.form), self.grows = tree_flatten(state), grows

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        tensors = iter(inputs)
        parts = [next(tensors) if isinstance(part, Tensor) else part for part in self.parts]
        state = tree_unflatten(parts, self.form)
        scores = self.next(words, state)
        return scores[:, -1], *(part for part, grows in zip(tensors_of(state), self.grows, strict=True) if grows)


class Score(Start):
    """Scores texts by teacher forcing."""

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Returns the log-probability (B,) of a text (B, T) for each of the sources (B, S)."""
        (texts,) = inputs
        scores = self.next(F.pad(texts[:, :-1], (1, 0), value=EOS), (self.model.encoder(words), None))
        return (scores.gather(2, texts[:, :, None])[:, :, 0].masked_fill(texts.eq(PAD), 0).sum(1),)


def tensors_of(state: State) -> list[Tensor]:
    return [part for part in tree_leaves(state) if isinstance(part, Tensor)]


# ---- files -----------------------------------------------------------------------------------------------------------


def write(
    model: FairseqEncoderDecoderModel | EncT5, never: tuple[int, ...], folder: Path, only_compact: bool = False
) -> None:
    """Writes the graphs of a model, in 32 and in 8 bits, and with --spelling, the index of its words.

    model: a levt, an enct5, or an encoder-decoder of fairseq
    never: words of a levt that fill no placeholder
    folder: the model folder
    only_compact: of a model that ``is_compactable``, no graphs in 32 bits
    """
    (folder / GRAPHS).mkdir()
    compacted = compact(model) if isinstance(model, LevT) and is_compactable(model) else None
    with warnings.catch_warnings(), torch.no_grad():
        # warnings that some sizes are fixed, as intended, and of torch about GPUs while oneDNN is switched off
        warnings.simplefilter("ignore")
        with torch.backends.mkldnn.flags(enabled=False):
            graphs = {} if compacted and only_compact else graphs_of(model, never)
            in_8_bits = levt_graphs(compacted[0], never, compacted[1]) if compacted else {}
            for bits, some in {32: graphs, 8: in_8_bits}.items():
                for name, traced in some.items():
                    trace(traced, folder / path_of(name, bits))
    logging.disable(logging.WARNING)
    for name in graphs | in_8_bits:
        exact, in_8 = (folder / path_of(name, bits) for bits in ENDINGS)
        if compacted:
            round_weights(in_8)
        else:
            # 7 bits, so that processors without VNNI, which add up in 16 bits, do not overflow
            how: dict[str, Any] = {"per_channel": True, "reduce_range": True, "weight_type": QuantType.QInt8}
            quantize_dynamic(exact, in_8, ["MatMul"], **how)
    logging.disable(logging.NOTSET)
    share_weights(sorted((folder / GRAPHS).iterdir()), folder / GRAPHS / WEIGHTS)
    index = model.word_index if isinstance(model, (LevT, EncT5)) else None
    if index is not None:
        np.savez(folder / INDEX, **stored_arrays(index))  # type: ignore[arg-type]


def round_weights(path: Path) -> None:
    """Rounds the matrices of a graph to 8 bits, each column by its own scale; products stay in 32 bits.

    Products in 8 bits would round the other factor as well, by one scale for a whole batch: then what is written for a
    text would depend on its neighbours.
    """
    model = onnx.load(path)
    inputs = [(node.op_type, place, name) for node in model.graph.node for place, name in enumerate(node.input)]
    exact = {name for kind, place, name in inputs if (kind, place) != ("MatMul", 1)}
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    matrices = {name: onnx.numpy_helper.to_array(tensor) for name, tensor in tensors.items() if name not in exact}
    nodes = []
    for name, matrix in matrices.items():
        columns, scales = rounded(torch.tensor(matrix).t(), TABLE_MAX)
        parts = {f"{name}.integers": columns.t().contiguous(), f"{name}.scales": scales}
        tensors |= {part: onnx.numpy_helper.from_array(values.numpy(), part) for part, values in parts.items()}
        nodes.append(onnx.helper.make_node("DequantizeLinear", [*parts], [f"{name}.rounded"], axis=1))
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in matrices:
            node.input[1] = f"{node.input[1]}.rounded"
        nodes.append(node)
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(tensor for name, tensor in tensors.items() if name not in matrices)
    path.write_bytes(model.SerializeToString())


def is_compactable(model: nn.Module) -> bool:
    """Returns whether a model has a form in which each vector of a word is stored once, in 8 bits."""
    return isinstance(model, LevT) and model.word_index is not None and model.encoder.backbone is None


def graphs_of(model: FairseqEncoderDecoderModel | EncT5, never: tuple[int, ...]) -> dict[str, Traced]:
    if isinstance(model, LevT):
        return levt_graphs(model, never)
    return enct5_graphs(model) if isinstance(model, EncT5) else seq2seq_graphs(model)


def trace(traced: Traced, path: Path) -> None:
    """Writes one graph."""
    examples = tuple(tensor for tensor, _ in traced.inputs.values())
    caches = [module for module in traced.module.eval().modules() if isinstance(module, EvalCache)]
    if caches:
        traced.module(*examples)
    for cache in caches:
        if cache.entry is not None:  # so that it is one of the graph's weights
            cache.register_buffer("value", cache.entry[1])
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
    return torch.full(sizes, dtype != torch.long, dtype=dtype), axes  # ids are 0, all else is 1


def ngram_inputs(model: LevT | EncT5) -> Inputs:
    if model.word_index is None:
        return {}
    return dict(zip(names.NGRAMS, (example("P"), example("P"), example("U", torch.float)), strict=True))


def levt_graphs(model: LevT, never: tuple[int, ...], tables: CompactTables | None = None) -> dict[str, Traced]:
    """Returns the three graphs of a levt.

    model: a levt
    never: words that fill no placeholder
    tables: with its ``compact`` copy, the vectors of words in 8 bits
    """
    decoder, spelling, candidates, pieces, aligned = model.decoder, Inputs(), Inputs(), Inputs(), Inputs()
    blocks = sum(len(decoder.stack(name)) for name in decoder.stacks)
    attention = decoder.stack("shared")[0].cross_attn
    heads, dim = attention.heads, attention.out_proj.out_features
    memory = example(f"{2 * blocks} B {heads} S {dim // heads}", torch.float)
    features, encoded = 1, [names.MEMORY]
    if model.word_index is not None:
        features = len(WordFeatures._fields)
        encoded.append(names.UNKNOWN_VECTORS)
        spelling = {names.UNKNOWN_VECTORS: example(f"U {dim}", torch.float)}
        spelling |= {name: example("B T") for name in names.REMOVED}
        columns = (example("n K"), example("n K", torch.float), example("n K"), example("n"), example("n"))
        candidates = dict(zip(names.CANDIDATES, columns, strict=True))
        if tables is not None:
            encoded = [names.MEMORY]
            spelling = {**ngram_inputs(model), names.SPELLED: example("B T"), names.REMOVED[1]: example("B T")}
    if model.encoder.backbone is not None:
        encoded.append(names.SOURCE_STATES)
        pieces = dict(zip(names.PIECES, (example("R W"), example("Q"), example("Q")), strict=True))
        aligned = {names.SOURCE_STATES: example(f"B S {dim}", torch.float), names.SOURCE_ALIGNMENT: example("B T")}
    source = {names.WORDS: example(f"{features} B S"), **ngram_inputs(model), **pieces}
    text = {names.WORDS: example(f"{features} B T"), names.MEMORY: memory}
    text[names.SOURCE_MASK] = example("B S", torch.bool)
    incomplete = {**text, names.PLACEHOLDERS: example("n"), **spelling, **candidates, **aligned}
    return {
        names.ENCODER: Traced(Encoder(model, tables), source, encoded),
        names.DECIDE: Traced(Decide(model, tables), {**text, **spelling, **aligned}, [*names.DECISIONS]),
        names.FILL: Traced(Fill(model, never, tables), incomplete, [*names.CHOICES]),
    }


def enct5_graphs(model: EncT5) -> dict[str, Traced]:
    """Returns the graph of an enct5."""
    kind, features = model.spec.kind, 1 if model.word_index is None else 4  # see ``WordFeatures``
    latents = SIZES["B"] * SIZES["T"]
    inputs: Inputs = {"latents": example("B T"), "where": (torch.arange(latents), {0: "n"})}
    if kind == "multilabel":
        inputs["asked"] = example("T")[0], {0: "L"}
    if kind == "tagging":
        inputs |= {name: example("B T") for name in ("decoder_segments", "latent_encdec_segments")}
        inputs["encdec_segments"] = example("B S")
    words = {names.WORDS: example(f"{features} B S")}
    label = Label(model, list(inputs))
    return {names.LABEL: Traced(label, {**words, **inputs, **ngram_inputs(model)}, [names.SCORES])}


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
    parts, grows = Inputs(), list[bool]()
    for number, (part, larger) in enumerate(zip(tensors_of(state), tensors_of(larger_state), strict=True)):
        sizes = {axis: size for axis, size in enumerate(part.shape) if larger.size(axis) != size}  # the dynamic ones
        axes = {axis: names.ROWS if size == batch else "T" if size >= length else "S" for axis, size in sizes.items()}
        grows.append("T" in axes.values())
        parts[f"{names.GROWING if grows[-1] else 'given'}{number}"] = part, axes
    longer_parts = [f"{name} and more" for name, is_longer in zip(parts, grows, strict=True) if is_longer]
    sources: Inputs = {names.WORDS: (words, {0: names.ROWS, 1: "S"})}
    prefixes: Inputs = {names.WORDS: (words.new_zeros((batch, length + 1)), {0: names.ROWS, 1: "N"})}
    scored = {names.WORDS: (words, {0: "B", 1: "S"}), names.TEXTS: example("B T")}
    return {
        names.START: Traced(start, sources, [names.SCORES, *parts]),
        names.STEP: Traced(Step(model, state, grows), {**prefixes, **parts}, [names.SCORES, *longer_parts]),
        names.SCORE: Traced(Score(model), scored, ["score"]),
    }


def share_weights(paths: list[Path], weights: Path) -> None:
    """Moves the large tensors of several graphs into one file, each of them once."""
    places: dict[str, int] = {}
    with weights.open("wb") as file:
        for path in paths:
            model = onnx.load(path)
            for node in model.graph.node:  # their names take a third of the file
                node.ClearField("name")
            constants = [node for node in model.graph.node if node.op_type == "Constant"]
            for node in constants:  # such as buffers that are not stored in a checkpoint
                if node.attribute[0].name == "value" and len(node.attribute[0].t.raw_data) > MAX_INLINE:
                    model.graph.initializer.add().CopyFrom(node.attribute[0].t)
                    model.graph.initializer[-1].name = node.output[0]
                    model.graph.node.remove(node)
            for tensor in model.graph.initializer:
                data = onnx.numpy_helper.to_array(tensor).tobytes()
                if len(data) <= MAX_INLINE:
                    continue
                digest = hashlib.sha256(data).hexdigest()
                if digest not in places:
                    file.write(bytes(-file.tell() % ALIGNED))
                    places[digest] = file.tell()
                    file.write(data)
                tensor.raw_data = data  # where the next line looks for them
                set_external_data(tensor, weights.name, places[digest], len(data))
                tensor.ClearField("raw_data")
            path.write_bytes(model.SerializeToString())
