"""gated-Trans (Sengupta, Kumar, Bhattacharjee and Roy, 2021, https://aclanthology.org/2021.findings-emnlp.309).

Gates around an encoder-decoder that removes noise:

    mask       u_i = sigmoid(W h_i)             how far source position i is replaced by [MASK]    Eq. (1)
               h_i := u_i emb_mask + (1 - u_i) h_i                                                 Eq. (2)
    copy       c_i                              how far output i repeats what it may copy          Eq. (3)
    generate   g_i                              how far output i is the decoder's own word         Eq. (4)
    skip       s_i                              how far output i is [MASK]                         Eq. (5)

The last three are a softmax over the sigmoids of the enabled gates (Eq. 6): with all three, a gate lies between 0.155
and 0.576; a single gate is 1. A gate that is not enabled is absent: it takes no mass and has no weights. Without
``generate`` the decoder's own word passes unchanged, so ``--gates ''`` is exactly the backbone. With
``--gate-mix vocabulary``, an absent gate stays in the softmax as a 0 and takes mass from the others, as in the
released code.

How they are combined (``--gate-mix``), with h' the decoder's state, z its logits and y' the copy:

    hidden        logits of  g sigmoid(h') + c emb(y') + s emb_mask                  Eq. (7) and (8)
    vocabulary    g log softmax(z) + c onehot(y') + s onehot([MASK])                 what the released code computes
    probability   log (g softmax(z) + c onehot(y') + s onehot([MASK]))               a mixture; decoding leaves s out

y' (``--copy-from``) is the token that the decoder reads (the equations), or the source (the text of the paper): then
onehot(y') is the attention of a pointer, summed by word, and emb(y') the mean embedding under that attention.

Departures from the printed equations: Eq. (4) has h_i, the encoder's state, which we take for a misprint: all three
output gates read h', as in the released code. Every gate has a bias: only then do four gates have the 3,076 =
4 * (768 + 1) parameters of appendix B (with ``--copy-from decoder-input``: a pointer adds a matrix). Whether there is a
b_vocab (Eq. 8) depends on the backbone: fairseq's ``transformer`` has none.

The defaults (mask, copy and generate, with ``--gate-mix probability --copy-from source``) learned fastest to remove
noise from text (examples/denoising, "Which gates, and how?"). With 7,000 training lines, the model learns to copy only
with these gates; with 130,000, or a pre-trained encoder, ``--gates ''`` is as good or better (see "Results" there).

Skip is off by default. Targets never contain [MASK], so skip can only learn to be small, but it is at least 0.155, and
0.212 where the sigmoid of copy is 1 and that of generate is 0. In training, a mixture loses this probability to [MASK].
In validation and decoding, it omits the [MASK] of skip and normalises the rest; otherwise, [MASK] would be the
likeliest word wherever no other reaches that probability.

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.nn``).
"""

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass

import torch
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import (
    FairseqEncoder,
    FairseqEncoderDecoderModel,
    FairseqIncrementalDecoder,
    register_model,
    register_model_architecture,
)
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.correction.copy_bias import target_ids
from lev_plugins.correction.gate_equations import (
    SparseWeights,
    copy_and_skip,
    gate_weights,
    mix_hidden,
    mix_probability,
    mix_vocabulary,
    soft_mask,
)
from lev_plugins.pretrained.modules import EncoderOut, IncrementalState
from lev_plugins.text.ids import FILLER
from lev_plugins.training.archives import LoadedFromFolder
from lev_plugins.training.batch import Batch
from lev_plugins.training.encoder_decoder import both_sides
from lev_plugins.training.presets import fill_in
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

OUTPUT_GATES = ["copy", "generate", "skip"]
GATES = ["mask", *OUTPUT_GATES]
# [MASK] is the first of these symbols that the dictionary has, otherwise <unk>
MASK_SYMBOLS = ["<mask>", "[MASK]", "<extra_id_0>", "▁<extra_id_0>"]  # of BART, BERT, T5 and ByT5, mT5


@dataclass
class GateConfig(FairseqDataclass):
    gates: str = flag(
        "mask,copy,generate", "any of mask, copy, generate, skip, separated by commas; '': the backbone only"
    )
    gate_mix: ChoiceEnum(["hidden", "vocabulary", "probability"]) = flag(  # type: ignore[valid-type]
        "probability",
        "where copy, generate and skip are combined: in the last hidden state (Eq. 7), in the vocabulary scores (as "
        "in the authors' code), or as a mixture of probability distributions",
    )
    copy_from: ChoiceEnum(["decoder-input", "source"]) = flag(  # type: ignore[valid-type]
        "source", "what the copy gate copies: the token the decoder reads, or source tokens chosen by attention"
    )


@dataclass
class GateProbabilities:
    """The value of each gate, for inspection; None for an absent gate."""

    source: Tensor  # (B, S) the tokens that the encoder read
    mask: Tensor | None = None  # (B, S)
    copy: Tensor | None = None  # (B, T)
    generate: Tensor | None = None  # (B, T)
    skip: Tensor | None = None  # (B, T)


def parse_gates(gates: str) -> list[str]:
    """
    >>> parse_gates("generate,mask")
    ['mask', 'generate']
    """
    named = [name.strip() for name in gates.split(",") if name.strip()]
    unknown = [name for name in named if name not in GATES]
    require(
        not unknown,
        f"--gates must be any of {', '.join(GATES)}, separated by commas, but contains {', '.join(unknown)}",
    )
    return [name for name in GATES if name in named]


def mask_symbol(dictionary: Dictionary) -> int:
    return next((dictionary.index(name) for name in MASK_SYMBOLS if name in dictionary), dictionary.unk())


def require_shared_words(source: Dictionary, target: Dictionary) -> None:
    """Refuses dictionaries that share only symbols and the words with which fairseq pads a dictionary (``FILLER``)."""
    words = [word for word in source.symbols[source.nspecial :] if not word.startswith(FILLER)]
    require(
        any(word in target for word in words),
        "--copy-from source requires words that are in both dictionaries, but the source and target dictionaries share "
        "no word: run fairseq-preprocess with --joined-dictionary, or use --copy-from decoder-input",
    )


class GatedEncoder(FairseqEncoder):
    """An encoder with a mask gate on its last states; it keeps the source tokens for the decoder to copy.

    ``backbone`` is any encoder whose output is fairseq's usual dict, with ``embed_tokens`` and ``embed_scale``.
    """

    def __init__(self, backbone: FairseqEncoder, gated: bool) -> None:
        super().__init__(backbone.dictionary)
        self.backbone, self.dim = backbone, backbone.embed_tokens.embedding_dim
        self.gate = nn.Linear(self.dim, 1) if gated else None
        self.mask_symbol = mask_symbol(backbone.dictionary)

    def forward(self, src_tokens: Tensor, src_lengths: Tensor | None = None, **options: object) -> EncoderOut:
        out: EncoderOut = self.backbone(src_tokens, src_lengths=src_lengths, **options)
        out["src_tokens"] = out.get("src_tokens") or [src_tokens]
        states = out["encoder_out"][0]  # (S, B, C)
        if self.gate is None:
            return {**out, "mask_gate": []}
        probability = self.gate(states).sigmoid()  # (S, B, 1), Eq. (1)
        states = soft_mask(states, probability, embed(self.backbone, self.mask_symbol))
        return {**out, "encoder_out": [states], "mask_gate": [probability[:, :, 0].t()]}

    def reorder_encoder_out(self, encoder_out: EncoderOut, new_order: Tensor) -> EncoderOut:
        reordered: EncoderOut = {**self.backbone.reorder_encoder_out(encoder_out, new_order)}
        reordered["src_tokens"] = [rows[new_order] for rows in encoder_out["src_tokens"]]
        reordered["mask_gate"] = [rows[new_order] for rows in encoder_out["mask_gate"]]
        return reordered

    def max_positions(self) -> int:
        return self.backbone.max_positions()


class OutputGates(nn.Module):
    """Eq. (3) to (6), and the pointer of ``--copy-from source``."""

    def __init__(self, names: list[str], dim: int, source_dim: int | None, absent_take_mass: bool) -> None:
        super().__init__()
        self.names = names
        self.zeros = len(OUTPUT_GATES) - len(names) if absent_take_mass else 0
        self.gate = nn.Linear(dim, len(names))  # one row per gate
        self.pointer = nn.Linear(dim, source_dim, bias=False) if source_dim is not None else None

    def forward(self, states: Tensor) -> dict[str, Tensor]:
        """(B, T, C) -> a weight (B, T) per gate"""
        weights = gate_weights(self.gate(states), self.zeros)
        return dict(zip(self.names, weights.unbind(-1), strict=True))

    def point(self, states: Tensor, source: Tensor, padding: Tensor) -> Tensor:
        """(B, T, C), (S, B, C), (B, S) True = padding -> attention over the source (B, T, S)"""
        assert self.pointer is not None
        queries = self.pointer(states) * source.size(-1) ** -0.5
        scores = torch.einsum("btc,sbc->bts", queries, source).float()
        return scores.masked_fill(padding[:, None], float("-inf")).softmax(-1)


class GatedDecoder(FairseqIncrementalDecoder):
    """A decoder with gates between its last states and the vocabulary.

    ``backbone`` is any incremental decoder with ``embed_tokens``, ``embed_scale`` and ``output_embed_dim``. ``start``
    is the symbol that it reads first, where fairseq writes </s>.
    """

    to_target: Tensor  # (V_source,) the target's id of each source symbol; None unless the decoder points

    def __init__(
        self,
        backbone: FairseqIncrementalDecoder,
        encoder: GatedEncoder,
        names: list[str],
        mix: str,
        copy_from: str,
        start: int,
    ) -> None:
        super().__init__(backbone.dictionary)
        self.backbone, self.mix, self.start = backbone, mix, start
        self.mask_symbol = mask_symbol(self.dictionary)
        self.pointing = "copy" in names and copy_from == "source"
        source_dim = encoder.dim if self.pointing else None
        as_released = mix == "vocabulary"
        self.gates = OutputGates(names, backbone.output_embed_dim, source_dim, as_released) if names else None
        if self.pointing:
            require_shared_words(encoder.dictionary, self.dictionary)
        to_target = target_ids(encoder.dictionary, self.dictionary) if self.pointing else None
        self.register_buffer("to_target", to_target, persistent=False)

    def forward(
        self,
        prev_output_tokens: Tensor,  # (B, T)
        encoder_out: EncoderOut,
        incremental_state: IncrementalState | None = None,
        **options: object,
    ) -> tuple[Tensor, dict[str, object]]:
        """Returns scores (B, T, V), whose log-softmax is log P; T is 1 in incremental decoding."""
        states, extra = self.backbone.extract_features(
            prev_output_tokens, encoder_out=encoder_out, incremental_state=incremental_state, **options
        )
        weights = self.gates(states) if self.gates is not None else {}
        inputs = prev_output_tokens[:, -states.size(1) :]
        inputs = inputs.masked_fill(inputs.eq(self.dictionary.eos()), self.start)
        scores = self.scores(states, weights, inputs, encoder_out)
        mask_gate = encoder_out["mask_gate"][0] if encoder_out["mask_gate"] else None
        return scores, {**extra, "gates": GateProbabilities(encoder_out["src_tokens"][0], mask_gate, **weights)}

    def scores(self, states: Tensor, weights: dict[str, Tensor], inputs: Tensor, encoder_out: EncoderOut) -> Tensor:
        """Returns (B, T, V) from states (B, T, C), a weight (B, T) per gate, and the decoder's inputs (B, T)."""
        if self.gates is None:
            return self.backbone.output_layer(states)
        if self.pointing:
            tokens = self.to_target[encoder_out["src_tokens"][0]]  # (B, S)
            padding = encoder_out["encoder_padding_mask"][0]
            copied = SparseWeights(tokens[:, None], self.gates.point(states, encoder_out["encoder_out"][0], padding))
        else:
            tokens, symbols = inputs, inputs[:, :, None]
            copied = SparseWeights(symbols, torch.ones_like(symbols, dtype=torch.float))
        if self.mix == "hidden":
            embedded = embed(self.backbone, tokens)  # (B, T, C), or of the source (B, S, C)
            if self.pointing:
                embedded = copied.weights.to(embedded.dtype) @ embedded  # (B, T, S) (B, S, C)
            mixed = mix_hidden(states, weights, embedded, embed(self.backbone, self.mask_symbol))
            return self.backbone.output_layer(mixed)
        logits = self.backbone.output_layer(states)
        if self.mix == "probability" and not self.training:  # targets never contain [MASK]
            weights = {name: weight for name, weight in weights.items() if name != "skip"}
        additions = copy_and_skip(weights, copied, self.mask_symbol)
        return (mix_vocabulary if self.mix == "vocabulary" else mix_probability)(logits, weights, additions)

    def get_normalized_probs(
        self, net_output: tuple[Tensor, dict[str, object]], log_probs: bool, sample: Batch | None = None
    ) -> Tensor:
        """Skips the softmax of a mixture in training, where the gates sum to 1; in decoding they may not."""
        mixed = self.mix == "probability" and self.gates is not None and "generate" in self.gates.names
        if self.training and log_probs and mixed:
            return net_output[0]
        return super().get_normalized_probs(net_output, log_probs, sample)

    def max_positions(self) -> int:
        return self.backbone.max_positions()


def embed(backbone: FairseqEncoder | FairseqIncrementalDecoder, tokens: Tensor | int) -> Tensor:
    """Returns token embeddings as the backbone reads them, without positions: (...,) -> (..., C)."""
    table = backbone.embed_tokens
    if not isinstance(tokens, Tensor):
        # not ``torch.tensor(tokens)``, which is a copy to the GPU, and waits for it
        tokens = torch.full((), tokens, device=next(table.parameters()).device)
    return backbone.embed_scale * table(tokens)


class GatedModel(LoadedFromFolder, FairseqEncoderDecoderModel):
    """Any fairseq encoder and decoder with ``extract_features``, gated.

    ``model(src_tokens, src_lengths, prev_output_tokens)[1]["gates"]`` are the GateProbabilities of a batch.
    """

    def __init__(
        self,
        encoder: FairseqEncoder,
        decoder: FairseqIncrementalDecoder,
        gates: str,
        mix: str,
        copy_from: str,
        start: int | None = None,
    ) -> None:
        names = parse_gates(gates)
        output_gates = [name for name in names if name != "mask"]
        require(
            decoder.adaptive_softmax is None,
            "a gated model needs scores for all words, which --adaptive-softmax-cutoff does not provide: leave it out",
        )
        gated_encoder = GatedEncoder(encoder, "mask" in names)
        start = decoder.dictionary.eos() if start is None else start
        super().__init__(gated_encoder, GatedDecoder(decoder, gated_encoder, output_gates, mix, copy_from, start))


@register_model("gated_trans")
class GatedTrans(GatedModel):
    """fairseq's ``transformer``, with all its flags, plus gates."""

    @classmethod
    def add_args(cls, parser: ArgumentParser) -> None:
        TransformerModel.add_args(parser)
        gen_parser_from_dataclass(parser, GateConfig())

    @classmethod
    def build_model(cls, args: Namespace, task: FairseqTask) -> "GatedTrans":
        backbone = TransformerModel.build_model(args, task)
        return cls(backbone.encoder, backbone.decoder, args.gates, str(args.gate_mix), str(args.copy_from))


register_model_architecture("gated_trans", "gated_trans")(base_architecture)


@register_model_architecture("gated_trans", "gated_trans_tiny")
def gated_trans_tiny(args: Namespace) -> None:
    fill_in(args, both_sides(embed_dim=64, ffn_embed_dim=128, layers=2, attention_heads=2))
    base_architecture(args)
