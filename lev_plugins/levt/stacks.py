"""The Transformer stacks of a LevT: one encoder, and a decoder whose heads read one stack or several.

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.nn``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from lev_plugins.edits.actions import RemovedTokens, unknown_to_unk
from lev_plugins.edits.batch_words import BatchWords, EditingStates
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.embedding import WHOLE_VOCABULARY, VocabularySample
from lev_plugins.edits.word_scorer import CandidateTensors
from lev_plugins.nn.linear import TiedLinear, head_projection
from lev_plugins.nn.output_loss import SummedLoss, gradient_is_ready, summed_loss
from lev_plugins.nn.transformer import (
    Block,
    KeysValues,
    LayerShape,
    Padding,
    TextEmbedding,
    gathered,
    padding_of,
    spread,
)
from lev_plugins.pretrained.word_encoder import BackboneWords
from lev_plugins.text.ids import UNK
from lev_plugins.training.encoder_decoder import layer_shape

LookUp = Callable[[Tensor], Tensor]  # the vectors of tokens: (B, T) -> (B, T, C)

# --share-weights: which Transformer stack each policy reads. The comments have the names of Table 2a. The names of
# stacks are those in checkpoints: older ones require that the token policy's is called "shared" in every case. The
# embeddings and the last LayerNorm are shared in every case, as in fairseq.
SHARING = {
    "all": {"deletion": "shared", "placeholder": "shared", "token": "shared"},  # "all"
    "plh-tok": {"deletion": "deletion", "placeholder": "shared", "token": "shared"},  # "plh, ins"
    "tok-del": {"deletion": "shared", "placeholder": "placeholder", "token": "shared"},  # "ins, del"
    "none": {"deletion": "deletion", "placeholder": "placeholder", "token": "shared"},  # "none"
}


@dataclass(frozen=True)
class EncodedSource:
    """The keys and values that cross-attention reads of an encoded source, for each block of each decoder stack."""

    keys_values: dict[str, list[KeysValues]]
    mask: Tensor | None  # (B, 1, 1, S), True = may be attended to

    def select(self, rows: Tensor) -> "EncodedSource":
        """Returns the sources at ``rows`` (n,); a row may appear more than once."""
        keys_values = {stack: [block.select(rows) for block in blocks] for stack, blocks in self.keys_values.items()}
        return replace(self, keys_values=keys_values, mask=None if self.mask is None else self.mask[rows])


class StepInputs(NamedTuple):
    """What a decoder reads in a training step besides tokens; a plain ``LevTDecoder`` reads only the draft."""

    draft: Tensor | None  # (B, N) y0, with ids that the decoder can look up
    words: BatchWords | None = None
    removed: RemovedTokens | None = None  # the words of y0 that were deleted after each token of y_ins
    replaced: RemovedTokens | None = None  # the word of y0 that each placeholder replaces
    candidates: CandidateTensors | None = None  # for these words
    sample: VocabularySample = WHOLE_VOCABULARY  # the output classes


class LevTEncoder(nn.Module):
    def __init__(
        self, embedding: TextEmbedding, shape: LayerShape, layers: int, backbone: BackboneWords | None = None
    ) -> None:
        """
        Args:
            embedding: of the source
            shape: the sizes of a block
            layers: the number of blocks
            backbone: a pre-trained encoder, whose states are added to the embedding
        """
        super().__init__()
        self.embedding, self.backbone = embedding, backbone
        self.layers = nn.ModuleList(Block(shape) for _ in range(layers))
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()

    def forward(
        self, src_tokens: Tensor, padding: Padding, look_up: LookUp | None = None, pieces: tuple[Tensor, ...] = ()
    ) -> Tensor:
        """Returns the states (B, S, C), or (n, C) of the real tokens alone.

        Args:
            src_tokens: (B, S)
            padding: where the real tokens are
            look_up: replaces the table of the embedding
            pieces: what the backbone reads (``PiecesInRows``)
        """
        mask, real = padding
        x = self.embedding(src_tokens, look_up=look_up, padded=mask is not None)
        if self.backbone is not None:
            x = x + self.backbone(src_tokens, *pieces)
        x = gathered(x, real)
        for layer in self.layers:
            x = layer(x, mask, real)
        return self.norm(x)


class LevTDecoder(nn.Module):
    """The decoder of the paper. ``levt_spelling.SpellingDecoder`` also reads the letters of words."""

    word_index: WordIndex | None = None  # the words of the dictionary by their letters
    reads_alignment = False  # whether ``hidden_states`` needs an alignment

    def __init__(self, embedding: TextEmbedding, cfg: Any, vocabulary: int) -> None:
        """
        Args:
            embedding: of the target, with a row for the placeholder
            cfg: a ``LevTConfig``
            vocabulary: V, the number of output classes
        """
        super().__init__()
        shape, source_dim = layer_shape(cfg, "decoder"), cfg.encoder_embed_dim
        exits = {"deletion": cfg.deletion_layers, "placeholder": cfg.placeholder_layers, "token": 0}
        self.depths = {head: depth or cfg.decoder_layers for head, depth in exits.items()}
        self.embedding, self.vocabulary, self.sharing = embedding, vocabulary, SHARING[str(cfg.share_weights)]
        stacks = {
            name: max(depth for head, depth in self.depths.items() if self.sharing[head] == name)
            for name in dict.fromkeys(self.sharing.values())
        }
        self.stacks = nn.ModuleDict(
            {name: nn.ModuleList(Block(shape, source_dim) for _ in range(depth)) for name, depth in stacks.items()}
        )
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()
        self.deletion_head = head_projection(shape.dim, 2)  # A of Eq. (3)
        self.placeholder_head = head_projection(2 * shape.dim, cfg.max_insertions + 1)  # B of Eq. (4)
        # C of Eq. (5): in the paper, always the embedding matrix; here only with one of these flags
        tied = cfg.share_all_embeddings or cfg.share_decoder_input_output_embed
        self.token_head = TiedLinear(embedding.table, vocabulary) if tied else head_projection(shape.dim, vocabulary)

    def stack(self, name: str) -> list[Block]:
        return list(cast(nn.ModuleList, self.stacks[name]))  # type: ignore[arg-type]

    # ---- the source --------------------------------------------------------------------------------------------------

    def token_look_up(
        self, words: BatchWords | None, target: Tensor | None = None, sample: VocabularySample = WHOLE_VOCABULARY
    ) -> LookUp | None:
        """Returns what looks up the vectors of a batch's tokens; None: the tables of encoder and decoder do."""
        return None

    def remember(self, states: Tensor, padding: Padding, look_up: LookUp | None = None) -> EncodedSource:
        """Project the encoder's states (B, S, C) for every block of every stack, once.

        Args:
            states: those of the real tokens alone, (n, C), if padding is left out
            padding: that of the source
            look_up: as returned by ``token_look_up``
        """
        return EncodedSource(self.keys_values(states, padding), padding.mask)

    def keys_values(self, states: Tensor, padding: Padding) -> dict[str, list[KeysValues]]:
        """Returns what ``EncodedSource.keys_values`` holds; the arguments are those of ``remember``."""
        return {
            name: [layer.cross_attn.project(states, padding.real) for layer in self.stack(name)] for name in self.stacks
        }

    def source_positions(self, tokens: Tensor, src_tokens: Tensor) -> Tensor | None:
        """Returns the positions (B, T) in the source that ``hidden_states`` reads with ``tokens`` (B, T), if any."""
        return None

    # ---- the hidden states of a sequence -----------------------------------------------------------------------------

    def embed(
        self,
        tokens: Tensor,
        source: EncodedSource,
        removed: RemovedTokens | None,
        alignment: Tensor | None,
        padded: bool,
    ) -> Tensor:
        """Returns the input of the first block: (B, T) -> (B, T, C). The arguments are those of ``hidden_states``."""
        return self.embedding(tokens, padded=padded)

    def hidden_states(
        self,
        head: str,
        tokens: Tensor,
        source: EncodedSource,
        removed: RemovedTokens | None = None,
        alignment: Tensor | None = None,
        computed: Sequence[Tensor] = (),
        padding: Padding | None = None,
    ) -> list[Tensor]:
        """Returns the states after each block up to the one that ``head`` reads, each (B, T, C), embedding first.

        Args:
            head: deletion, placeholder or token
            tokens: (B, T)
            source: the encoded source
            removed: with --spelling, words of the draft. Placeholder policy: those that were deleted after each token.
                Token policy: the one word that each placeholder replaces. Deletion policy: None (or, in a graph, no
                words), as nothing has been deleted yet.
            alignment: (B, T) the position in the source of each token, from ``source_positions``
            computed: what this method has returned for another head of the same stack, to continue from: for the same
                ``tokens``, ``source`` and ``alignment``, before anything was deleted. Besides the last item, only the
                one that ``head`` reads has to match; of the others, only the number counts.
            padding: that of the tokens, if it is known
        """
        stack = self.sharing[head]
        mask, real = padding or padding_of(tokens, self.embedding.pad)
        hidden = list(computed) or [self.embed(tokens, source, removed, alignment, padded=mask is not None)]
        done = len(hidden) - 1  # blocks that have run: hidden[0] is the embedding, hidden[i] the i-th block's output
        x = gathered(hidden[done], real)
        blocks = list(zip(self.stack(stack), source.keys_values[stack], strict=True))
        for block, keys_values in blocks[done : self.depths[head]]:
            x = block(x, mask, real, keys_values, source.mask)
            hidden.append(spread(x, real))
        return hidden

    def features(self, head: str, hidden: list[Tensor]) -> Tensor:
        return self.norm(hidden[self.depths[head]])

    # ---- the policies ------------------------------------------------------------------------------------------------

    def deletion_logits(self, hidden: list[Tensor]) -> Tensor:
        """Eq. (3): (B, T, 2), class 1 = delete.

        So it is in section 2.2, but above Eq. (3) the paper prints "deleted" (0). The equation is for i = 1 ... n - 1,
        without <s> and </s>. Here they have logits, too, and are learned as tokens to keep, as in fairseq; decoding
        never deletes them.
        """
        return self.deletion_head(self.features("deletion", hidden))

    def placeholder_logits(self, hidden: list[Tensor]) -> Tensor:
        """Eq. (4): (B, T - 1, K + 1)"""
        h = self.features("placeholder", hidden)
        return self.placeholder_head(torch.cat([h[:, :-1], h[:, 1:]], -1))  # (B, T-1, 2C)

    def token_logits(
        self,
        hidden: list[Tensor],
        index: Tensor,
        source: EncodedSource | None = None,
        replaced: RemovedTokens | None = None,
        candidates: CandidateTensors | None = None,
    ) -> Tensor:
        """Eq. (5) at the placeholders only: (n, V)

        Args:
            hidden: the hidden states of the token policy
            index: (n,) positions of the placeholders in the flattened (B * T)
            source: the encoded source, with --spelling
            replaced: the word that each placeholder replaces, as ``removed`` in ``hidden_states``
            candidates: for these words
        """
        return self.token_head(self.placeholder_features(hidden, index))

    def candidates(self, host_ids: list[int], replaced: Tensor, source: EncodedSource) -> CandidateTensors | None:
        """Returns the candidates that ``token_logits`` reads for the words ``replaced`` (n,).

        ``host_ids`` are the same ids as a Python list, to save a device-to-host copy.
        """
        return None

    def can_sum_loss(self, hidden: list[Tensor]) -> bool:
        """Returns whether ``token_loss`` can compute the gradient along with the loss."""
        return gradient_is_ready(hidden[-1])

    def token_loss(self, hidden: list[Tensor], index: Tensor, labels: Tensor, smoothing: float) -> SummedLoss:
        return summed_loss(self.placeholder_features(hidden, index), self.token_head.weight, labels, smoothing)

    def placeholder_features(self, hidden: list[Tensor], index: Tensor) -> Tensor:
        """(n, C)"""
        return self.features("token", hidden).flatten(0, 1)[index]

    # ---- training ----------------------------------------------------------------------------------------------------

    def step_inputs(
        self,
        src_tokens: Tensor,
        states: EditingStates,
        draft: Tensor | None,
        words: BatchWords | None,
        may_sample: bool,
    ) -> StepInputs:
        """Prepares a training step.

        Args:
            src_tokens: (B, S)
            states: the states in which the policies learn
            draft: (B, N) y0, whose ids may be those of unknown words
            words: the unknown words of the batch
            may_sample: whether a sample of the output classes will do
        """
        return StepInputs(None if draft is None else unknown_to_unk(draft, self.vocabulary, UNK))
