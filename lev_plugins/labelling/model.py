"""EncT5 (Liu et al., 2021, https://arxiv.org/abs/2110.08426): labels from a T5 encoder, in one pass.

The encoder is T5's (or, which the paper does not try, any other of ``transformers``). The decoder is new: its inputs
are learned *latent vectors* instead of words, its attention is not causal, and projection heads read its output instead
of the vocabulary's table (Framework 1).

Algorithm 1   classification, regression   one latent; without self-attention, which would be an identity
Algorithm 2   multilabel                   one latent and one head of two classes per label; or, with --latents one, the
                                           fallback for thousands of labels, one latent and one head for all of them
Algorithm 3   tagging                      the same latent for each word, which attends only to the pieces of its own
                                           word (``encdec_segments``), while the encoder sees the whole text

Where the paper leaves a choice: latents have no positions ("decoder_positions: None"), so the distance table of T5's
decoder is not used; heads have a bias, initialised to zero; tagging with one decoder layer has no self-attention,
because it would see copies of the same latent.

Names in the paper and here:

encoder_input_tokens   src_tokens           decoder_input_tokens       latents
encoder_segment_ids    encoder_segments     decoder_segment_ids        decoder_segments
encdec_segment_ids     encdec_segments of the source, latent_encdec_segments of the latents
label ids of interest  asked (the name of this input in graphs)

Shapes: B rows, S source length, T latents per row, C channels, H heads. A row holds one example or, packed, several;
n is the number of outputs of the batch: examples, or words in tagging. N is the number of latents that are not padding:
n, or n * L with a latent for each of L requested labels.
"""

from dataclasses import fields
from pathlib import Path

import torch
import torch.nn.functional as F
from fairseq.models import BaseFairseqModel, register_model
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.edits.batch_words import BatchWords
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.embedding import NgramEmbedding
from lev_plugins.labelling.config import EncT5Config, LabelSpec, check_enct5_config
from lev_plugins.nn.scaled_adam import scale_learning_rate
from lev_plugins.nn.t5 import Norm, T5Block, T5Shape, refuse_fp16
from lev_plugins.pretrained.encoders import same
from lev_plugins.pretrained.weights import LabelEncoder, encoder_of, load_backbone
from lev_plugins.text.pretrained import DICTIONARY
from lev_plugins.training.archives import LoadedFromFolder
from lev_plugins.training.presets import register_presets

BINARY = 2  # classes of a label: absent, present


class LatentDecoder(nn.Module):
    """Blocks of T5's decoder that read latent vectors, all in one step: without a causal mask and positions."""

    def __init__(self, shape: T5Shape, layers: int, spec: LabelSpec, interaction: bool) -> None:
        super().__init__()
        self.spec, self.dropout = spec, shape.dropout
        self.latents = nn.Embedding(spec.classes if spec.latent_per_label else 1, shape.embed_dim)
        nn.init.normal_(self.latents.weight)
        self.layers = nn.ModuleList(T5Block(shape, interaction, cross_attention=True) for _ in range(layers))
        self.norm = Norm(shape.embed_dim)

    def forward(self, latents: Tensor, source: Tensor, self_mask: Tensor | None, cross_mask: Tensor) -> Tensor:
        """Returns the states of the latents, (B, T, C).

        Args:
            latents: (B, T) ids
            source: (B, S, C) states of the encoder
            self_mask: (B, 1, T, T) True = may be attended to; None: everything
            cross_mask: (B, 1, 1 or T, S) True = may be attended to
        """
        if self.spec.latent_per_label and self_mask is None and not (self.training and self.dropout):
            # rows are equal until they read the source: the first self-attention needs only one (see T5Block)
            latents = latents[:1]
        x = F.dropout(self.latents(latents), self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, self_mask, source, cross_mask)
        return F.dropout(self.norm(x), self.dropout, self.training)


class Pooling(nn.Module):
    """Replaces the decoder by what section 3 compares it with: one state of the encoder, or the mean of several."""

    def __init__(self, pool: str, dropout: float) -> None:
        super().__init__()
        self.takes_cls, self.dropout = pool == "cls", dropout

    def forward(self, latents: Tensor, source: Tensor, self_mask: Tensor | None, cross_mask: Tensor) -> Tensor:
        """Returns (B, T, C); the arguments are those of ``LatentDecoder.forward``.

        >>> Pooling("mean", 0.0)(torch.zeros(1, 2), torch.tensor([[[1.0], [3.0], [8.0]]]), None,
        ...     torch.tensor([[[[True, True, False]]]]))
        tensor([[[2.],
                 [2.]]])
        """
        shares = cross_mask[:, 0].to(source)
        x = source[:, :1] if self.takes_cls else shares @ source / shares.sum(2, keepdim=True)
        return F.dropout(x.expand(-1, latents.size(1), -1), self.dropout, self.training)


class LabelHead(nn.Module):
    """Projections that read the decoder's output; in multilabel, a label's two scores are for absence and presence."""

    def __init__(self, dim: int, spec: LabelSpec) -> None:
        super().__init__()
        self.spec = spec
        separate = spec.latent_per_label and spec.heads == "label"
        classes = BINARY if spec.latent_per_label else spec.classes
        number = spec.classes if separate else 1
        self.weight = nn.Parameter(torch.randn(number, classes, dim) * dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(number, classes))

    def forward(self, states: Tensor, labels: Tensor | None) -> Tensor:
        """Returns logits: (n, classes), of the presence of labels (n, L) in multilabel, or (n,) numbers in regression.

        Args:
            states: (N, C)
            labels: (L,) multilabel: ids of the requested labels; None: there is no choice of labels
        """
        if not self.spec.latent_per_label:
            logits = F.linear(states, self.weight[0], self.bias[0])  # (n, classes)
            if self.spec.kind == "regression":
                return logits[:, 0]
            return logits if labels is None else logits[:, labels]
        assert labels is not None
        states = states.unflatten(0, (-1, labels.numel()))  # (n, L, C)
        rows = labels if self.weight.size(0) > 1 else torch.zeros_like(labels)
        both = torch.einsum("nlc,lkc->nlk", states, self.weight[rows]) + self.bias[rows]  # (n, L, 2)
        return both[..., 1] - both[..., 0]  # the logit of the second class in a softmax over two


@register_model("enct5", dataclass=EncT5Config)
class EncT5(LoadedFromFolder, BaseFairseqModel):
    def __init__(self, encoder: LabelEncoder, decoder: LatentDecoder | Pooling, head: LabelHead) -> None:
        super().__init__()
        self.encoder, self.decoder, self.head = encoder, decoder, head

    @classmethod
    def build_model(cls, cfg: EncT5Config, task: FairseqTask) -> "EncT5":
        spec, words = check_enct5_config(cfg, task), task.source_dictionary
        shape = T5Shape(**{size.name: getattr(cfg, size.name) for size in fields(T5Shape)})
        tokens = None
        if cfg.spelling:
            tokens = NgramEmbedding(words, shape.embed_dim, WordIndex.of_dictionary(words, cfg.spelling_buckets))
        encoder = encoder_of(words, cfg, tokens, cfg.word_dropout, with_cls=str(cfg.pool) == "cls")
        if spec.latent_per_label:
            interaction = not cfg.no_label_interaction and spec.classes > 1
        else:  # one latent, or, in tagging with one block, copies of the same
            interaction = spec.kind == "tagging" and cfg.decoder_layers > 1
        decoder: LatentDecoder | Pooling = LatentDecoder(shape, cfg.decoder_layers, spec, interaction)
        if str(cfg.pool) != "no":
            decoder = Pooling(str(cfg.pool), cfg.dropout)
        model = cls(encoder, decoder, LabelHead(shape.embed_dim, spec))
        if cfg.backbone is not None:
            folder = Path(cfg.backbone)
            task.require_dictionary_of(folder / DICTIONARY)
            load_backbone(encoder, cfg, folder, decoder if str(cfg.decoder_init) == "backbone" else None)
            scale_learning_rate(model.encoder.parameters(), cfg.backbone_lr_factor)
        return model

    @property
    def spec(self) -> LabelSpec:
        return self.head.spec

    @property
    def word_index(self) -> WordIndex | None:
        return self.encoder.tokens.index if isinstance(self.encoder.tokens, NgramEmbedding) else None

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        latents: Tensor,  # (B, T) ids
        where: Tensor,  # (N,) indices of the latents that are not padding, in the flattened (B * T)
        asked: Tensor | None = None,  # (L,) multilabel: the requested labels, in the order of their logits
        encoder_segments: Tensor | None = None,  # (B, S) examples of a packed row: 1, 2, ...; 0 = padding
        decoder_segments: Tensor | None = None,  # (B, T) the examples that the latents belong to
        encdec_segments: Tensor | None = None,  # (B, S) words of a row: 1, 2, ...; 0 = none
        latent_encdec_segments: Tensor | None = None,  # (B, T) the words that the latents belong to
        words: BatchWords | Tensor | None = None,  # with --spelling: those of the batch that the dictionary lacks
        **unused: object,
    ) -> Tensor:
        """Returns logits in the order of ``where``.

        classification (n, classes), regression (n,), multilabel (n, requested labels): the logit of the label's
        presence, tagging (words, tags)
        """
        refuse_fp16(self.head.weight, "EncT5")
        states = self.encoder(src_tokens, encoder_segments, words)
        # in cross-attention, a latent reads its word (tagging), its example (packed rows) or the whole row
        keys, queries = (encoder_segments, decoder_segments)
        if encdec_segments is not None:  # words are numbered along the row, so these also separate packed examples
            keys, queries = encdec_segments, latent_encdec_segments
        if keys is None or queries is None:
            cross_mask = src_tokens.ne(self.encoder.pad)[:, None, None, :]  # (B, 1, 1, S), True = may be attended to
        else:  # (B, 1, T, S); padding latents may attend to everything: a softmax over nothing is NaN
            cross_mask = same(queries, keys) | queries.eq(0)[:, None, :, None]
        self_mask = same(decoder_segments, decoder_segments) if decoder_segments is not None else None  # (B, 1, T, T)
        outputs = self.decoder(latents, states, self_mask, cross_mask)  # (B, T, C)
        return self.head(outputs.flatten(0, 1)[where], asked)


ENCT5_PRESETS: dict[str, dict[str, int]] = {
    "enct5_tiny": {"embed_dim": 64, "ffn_embed_dim": 128, "layers": 2, "attention_heads": 4, "head_dim": 16},
}

register_presets("enct5", ENCT5_PRESETS)
