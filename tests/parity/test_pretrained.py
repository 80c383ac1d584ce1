"""The library's models behind fairseq's interfaces: the same scores and the same beams as the library's own."""

from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor

from lev_plugins.correction.gated import GATES
from tests.helpers import EOS, PAD

pytest.importorskip("transformers")
from tests import pretrained

SOURCES = [9, 4, 6, 3, 7]  # lengths
TWICE = {"bert": 2, "electra": 2, "roberta": 0, "xlm-roberta": 0}  # encoders: what begins their texts
BEFORE_SOURCE = {"bart": [0], **{name: [begin] for name, begin in TWICE.items()}}  # the library's ids
START = {**BEFORE_SOURCE, "bart": [2, 0]}  # what a decoder begins with; T5's is 0
BEAM, LONGEST = 3, 15


@dataclass
class Pair:
    """A model of the library, the same one imported, and the way from ids to ids."""

    theirs: Any
    ours: Any
    folder: Path
    before: list[int]
    start: list[int]
    to_ours: Tensor  # fairseq's symbol of each of the library's ids
    to_theirs: Tensor

    @property
    def pad(self) -> int:
        return int(self.to_theirs[PAD])

    def sources(self) -> tuple[Tensor, Tensor]:
        """The same sentences, padded on the right, for the library and for us."""
        torch.manual_seed(2)
        rows = [torch.randint(5, len(self.to_ours), (length,)) for length in SOURCES]
        theirs = [torch.tensor([*self.before, *row.tolist(), int(self.to_theirs[EOS])]) for row in rows]
        ours = [torch.tensor([*self.to_ours[row].tolist(), EOS]) for row in rows]
        return padded(theirs, self.pad), padded(ours, PAD)

    def targets(self, length: int = 6) -> tuple[Tensor, Tensor]:
        """The same decoder inputs."""
        words = torch.randint(5, len(self.to_ours), (len(SOURCES), length))
        theirs = torch.cat([torch.tensor(self.start).expand(len(words), -1), words], 1)
        return theirs, torch.cat([torch.full((len(words), 1), EOS), self.to_ours[words]], 1)


def padded(rows: list[Tensor], pad: int) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)


def lengths(tokens: Tensor) -> Tensor:
    return tokens.ne(PAD).sum(1)


@pytest.fixture(scope="module", params=[*pretrained.MAKERS, "umt5", *(name for name in TWICE if name != "bert")])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    theirs = pretrained.make(name, folder / "theirs")
    out = pretrained.imported(folder / "theirs", folder / "ours")
    ours = pretrained.build(out)
    if name in TWICE:
        theirs = encoder_twice(folder / "theirs", ours, TWICE[name])
    return Pair(theirs, ours, out, BEFORE_SOURCE.get(name, []), START.get(name, [0]), *pretrained.ids_of_symbols(out))


def encoder_twice(folder: Path, ours: Any, begin: int) -> Any:
    """The library's encoder-decoder of the same encoder twice; the cross-attention, new in both, becomes ours."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, EncoderDecoderModel

    decoder = AutoModelForCausalLM.from_pretrained(folder, is_decoder=True, add_cross_attention=True)
    new = {name: p for name, p in ours.decoder.backbone.stack.named_parameters() if "crossattention" in name}
    with torch.no_grad():
        for parameter in new.values():
            parameter.mul_(10)
    decoder.base_model.load_state_dict(new, strict=False)
    encoder = AutoModelForMaskedLM.from_pretrained(folder).base_model
    model = EncoderDecoderModel(encoder=encoder, decoder=decoder)
    eos = encoder.config.eos_token_id or 3
    model.generation_config.update(
        decoder_start_token_id=begin, eos_token_id=eos, pad_token_id=encoder.config.pad_token_id
    )
    return model.eval()


@torch.no_grad()
def test_the_same_scores(pair: Pair) -> None:
    (their_source, source), (their_read, read) = pair.sources(), pair.targets()
    mask = their_source.ne(pair.pad).long()
    out = pair.theirs(input_ids=their_source, attention_mask=mask, decoder_input_ids=their_read)
    expected = out.logits[:, len(pair.start) - 1 :]
    found = pair.ours(source, lengths(source), read)[0]
    assert (found[..., pair.to_ours] - expected).abs().max() < 1e-4
    assert expected.std() > 0.5 and (expected[0] - expected[1]).abs().max() > 0.01  # no comparison of nothing


@torch.no_grad()
def test_the_same_beams(pair: Pair) -> None:
    """The best of each sentence, with its score. (Of several that end in one step, the two keep others as second.)"""
    their_source, source = pair.sources()
    eos, last = int(pair.to_theirs[EOS]), len(pair.start) + LONGEST

    def end(ids: Tensor, scores: Tensor) -> Tensor:
        """At the length limit only </s> is left, with the score it has: what fairseq does."""
        others = torch.arange(scores.size(1)).ne(eos)
        return scores.masked_fill(others, float("-inf")) if ids.size(1) == last else scores

    out = pair.theirs.generate(
        input_ids=their_source,
        attention_mask=their_source.ne(pair.pad).long(),
        decoder_input_ids=torch.tensor(pair.start).expand(len(source), -1),
        num_beams=BEAM,
        max_new_tokens=LONGEST + 1,
        min_new_tokens=1,
        length_penalty=1.0,
        early_stopping=True,
        do_sample=False,
        forced_eos_token_id=None,
        logits_processor=[end],
        suppress_tokens=[pair.pad],  # as fairseq does
        return_dict_in_generate=True,
        output_scores=True,
    )
    generator = SequenceGenerator([pair.ours], pair.ours.decoder.dictionary, beam_size=BEAM, max_len_b=LONGEST)
    found = generator.generate([pair.ours], {"net_input": {"src_tokens": source, "src_lengths": lengths(source)}})
    ours = [hypotheses[0] for hypotheses in found]
    for hypothesis, ids, score in zip(ours, out.sequences[:, len(pair.start) :], out.sequences_scores, strict=True):
        words = pair.to_ours[ids].tolist()
        assert hypothesis["tokens"].tolist() == words[: words.index(EOS) + 1]
        assert hypothesis["score"].item() == pytest.approx(score.item(), abs=1e-4)
    twice = pair.theirs.config.model_type == "encoder-decoder"  # some of these always write as much as they may
    assert twice or len({len(hypothesis["tokens"]) for hypothesis in ours}) > 1


@torch.no_grad()
@pytest.mark.parametrize("gates", ["", ",".join(GATES)])
def test_step_by_step_is_all_at_once(pair: Pair, gates: str) -> None:
    ours = deepcopy(pair.ours) if not gates else pretrained.build(pair.folder, gates=gates)
    ours.double()  # scores reach 40, where a step of single precision is 4e-6
    source, read = pair.sources()[1], pair.targets()[1]
    encoder_out, state = ours.encoder(source, lengths(source)), {}
    at_once = ours.decoder(read, encoder_out)[0]
    for i in range(read.size(1)):
        step = ours.decoder(read[:, : i + 1], encoder_out, state)[0]
        assert (step[:, 0] - at_once[:, i]).abs().max() < 1e-5


@torch.no_grad()
def test_padding_and_batch_size_change_nothing(pair: Pair) -> None:
    source, read = pair.sources()[1], pair.targets()[1]
    together = pair.ours(source, lengths(source), read)[0]
    for row, length in enumerate(lengths(source).tolist()):
        alone = source[row : row + 1, :length]
        left = torch.cat([torch.full((1, 3), PAD), alone], 1)
        for tokens in (alone, left):
            assert (pair.ours(tokens, lengths(tokens), read[row : row + 1])[0] - together[row]).abs().max() < 1e-4
