"""The Transformer stacks of a LevT: one encoder, and a decoder whose heads read one stack or several.

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.layers``).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from lev_plugins.edits.actions import RemovedTokens, among
from lev_plugins.layers.linear import Linear, head_projection, linear, output_of
from lev_plugins.layers.output_loss import SummedLoss, computed_at_once, summed_loss
from lev_plugins.layers.transformer import (
    Block,
    KeysValues,
    LayerShape,
    Padding,
    RealTokens,
    TextEmbedding,
    gathered,
    padding_of,
    spread,
    token_embedding,
)
from lev_plugins.models.backbones.word_encoder import BackboneWords
from lev_plugins.models.encoder_decoder import layer_shape
from lev_plugins.spelling.embedding import MeantWords, WordVectors
from lev_plugins.spelling.word_scorer import Nearest, Respelling

LookUp = Callable[[Tensor], Tensor]

# Table 2a: which Transformer stack each policy reads from
SHARING = {
    "all": {"deletion": "shared", "placeholder": "shared", "token": "shared"},
    "plh-tok": {"deletion": "deletion", "placeholder": "shared", "token": "shared"},
    "tok-del": {"deletion": "shared", "placeholder": "placeholder", "token": "shared"},
    "none": {"deletion": "deletion", "placeholder": "placeholder", "token": "shared"},
}
MANY = 16  # deleted words side by side that the placeholder policy can count, less one


class EncodedSource(NamedTuple):
    """An encoded source: per decoder stack and block, the keys and values that cross-attention reads."""

    keys_values: dict[str, list[KeysValues]]
    mask: Tensor | None  # (B, 1, 1, S), True = may be attended to
    words: WordVectors | None = None  # with --spelling
    target: Tensor | None = None  # (B, T) with --spelling, in training
    beside: Tensor | None = None  # (B, S + 1, C) with --backbone, the states of the source, and zeros
    places: Tensor | None = None  # (B, T) which of them is beside each token that is read next

    def select(self, rows: Tensor) -> "EncodedSource":
        """The sources at ``rows`` (n,); a row may appear more than once."""
        selected = {
            stack: [keys_values.select(rows) for keys_values in layers] for stack, layers in self.keys_values.items()
        }
        others: dict[str, Any] = {name: x[rows] for name, x in self._asdict().items() if isinstance(x, Tensor)}
        return self._replace(keys_values=selected, **others)


class LevTEncoder(nn.Module):
    def __init__(self, embedding: TextEmbedding, shape: LayerShape, layers: int, backbone: BackboneWords | None = None):
        super().__init__()
        self.embedding, self.backbone = embedding, backbone
        self.layers = nn.ModuleList(Block(shape) for _ in range(layers))
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()

    def forward(
        self,
        src_tokens: Tensor,
        padding: Padding,
        look_up: LookUp | None = None,
        pieces: tuple[Tensor, ...] = (),
    ) -> Tensor:
        """(B, S) -> (B, S, C); if padding is left out, (n, C). ``pieces``: what a backbone reads."""
        mask, real = padding
        x = self.embedding(src_tokens, look_up=look_up, padded=mask is not None)
        if self.backbone is not None:
            x = x + self.backbone(src_tokens, *pieces)
        x = gathered(x, real)
        for layer in self.layers:
            x = layer(x, mask, real)
        return self.norm(x)


class LevTDecoder(nn.Module):
    def __init__(self, embedding: TextEmbedding, cfg: Any, vocabulary: int, beside: bool):
        """``cfg`` by LevT's flags; ``beside``: a token is read together with the source token in its place."""
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
        tied = cfg.share_all_embeddings or cfg.share_decoder_input_output_embed
        # C of Eq. (5); None = the embedding table
        self.token_head = None if tied else head_projection(shape.dim, vocabulary)
        self.from_beside = Linear(source_dim, shape.dim, bias=False) if beside else None
        self.respelling: Respelling | None = None
        if isinstance(embedding.tokens, MeantWords):
            words = embedding.tokens
            self.respelling = Respelling(words.index, words.shapes, words.padding_idx, shape.dim, reads=beside)
            self.from_given = Linear(shape.dim, shape.dim, bias=False)
            nn.init.normal_(self.from_given.weight, std=shape.dim**-0.5)
            self.given_counts = token_embedding(min(cfg.max_insertions + 1, MANY), shape.dim, 0)

    def untie_output(self) -> None:
        """Give an output that shares the table its own product, which may have another precision."""
        if self.token_head is None and isinstance(self.embedding.tokens, nn.Embedding):
            self.token_head = output_of(self.embedding.table[: self.vocabulary])

    def stack(self, name: str) -> list[Block]:
        return list(cast(nn.ModuleList, self.stacks[name]))  # type: ignore[arg-type]

    def remember(self, source: Tensor, real: RealTokens | None = None) -> dict[str, list[KeysValues]]:
        """Project the encoded source for every block of every stack, once."""
        return {name: [layer.cross_attn.project(source, real) for layer in self.stack(name)] for name in self.stacks}

    def look_up(self, memory: EncodedSource, removed: RemovedTokens | None = None) -> LookUp | None:
        """With --spelling, the vectors of tokens, each with the spelling and number of words ``removed`` beside it."""
        spelling, words = self.embedding.tokens, memory.words
        if words is None or not isinstance(spelling, MeantWords):
            return None

        def vectors(tokens: Tensor) -> Tensor:
            x = spelling.look_up(tokens, words, None if memory.target is None else among(tokens, memory.target))
            if removed is None:
                return x
            number = self.given_counts(removed.counts.clamp(max=self.given_counts.num_embeddings - 1))
            return x + self.from_given(words.spelling_of(removed.first)) + number

        return vectors

    def states(
        self,
        head: str,
        tokens: Tensor,
        memory: EncodedSource,
        known: list[Tensor] | None = None,
        removed: RemovedTokens | None = None,
    ) -> list[Tensor]:
        """The states of ``tokens`` (B, T) after each block up to the one that ``head`` reads: a list of (B, T, C).

        ``known`` holds states of the same tokens from the same stack, computed for another head, to reuse;
        ``removed`` are the words that were deleted after each token, or the one that a hole replaces.
        """
        stack = self.sharing[head]
        mask, real = padding_of(tokens, self.embedding.pad)
        states = list(known or [])
        if not states:
            look_up = self.look_up(memory, removed)
            x = self.embedding(tokens, look_up=look_up, padded=mask is not None)
            if memory.beside is not None:
                assert memory.places is not None
                x = x + memory.beside.gather(1, memory.places[:, :, None].expand(-1, -1, x.size(2)))
            states.append(x)
        x = gathered(states[-1], real)
        layers = list(zip(self.stack(stack), memory.keys_values[stack], strict=True))
        for layer, keys_values in layers[len(states) - 1 : self.depths[head]]:
            x = layer(x, mask, real, keys_values, memory.mask)
            states.append(spread(x, real))
        return states

    def features(self, head: str, states: list[Tensor]) -> Tensor:
        return self.norm(states[self.depths[head]])

    def deletion_logits(self, states: list[Tensor]) -> Tensor:
        """Eq. (3): (B, T, 2), class 1 = delete"""
        return self.deletion_head(self.features("deletion", states))

    def placeholder_logits(self, states: list[Tensor]) -> Tensor:
        """Eq. (4): (B, T - 1, K + 1)"""
        h = self.features("placeholder", states)
        return self.placeholder_head(torch.cat([h[:, :-1], h[:, 1:]], -1))  # (B, T-1, 2C)

    def token_logits(
        self,
        states: list[Tensor],
        holes: Tensor,
        words: WordVectors | None = None,
        replaced: Tensor | None = None,
        nearest: Nearest | None = None,
    ) -> Tensor:
        """Eq. (5) at the holes only: (n, V); ``holes`` (n,) are positions in the flattened (B * T).

        With --spelling, ``words`` and the words ``replaced`` (B, T) that holes replace have a say; ``nearest``: the
        candidates for those.
        """
        h = self.features_of(states, holes)
        table = self.embedding.tokens
        if self.respelling is not None and isinstance(table, MeantWords):
            assert words is not None and replaced is not None and nearest is not None
            return self.respelling(h, replaced.flatten()[holes], words, table.directions(words), nearest)
        if self.token_head is not None:
            return self.token_head(h)
        return linear(h, self.embedding.table[: self.vocabulary])

    def token_loss(self, states: list[Tensor], holes: Tensor, labels: Tensor, smoothing: float) -> SummedLoss | None:
        """None with --spelling, or where the gradient cannot be computed in the forward pass."""
        if self.respelling is not None or not computed_at_once(states[-1]):
            return None
        h = self.features_of(states, holes)
        weight = self.embedding.table[: self.vocabulary] if self.token_head is None else self.token_head.weight
        return summed_loss(h, weight, labels, smoothing)

    def features_of(self, states: list[Tensor], holes: Tensor) -> Tensor:
        """(n, C)"""
        return self.features("token", states).flatten(0, 1)[holes]
