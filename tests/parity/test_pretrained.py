"""Imported models have the scores and the beams of the library's models."""

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

SOURCE_LENGTHS = [9, 4, 6, 3, 7]
CLS = {"bert": 2, "electra": 2, "roberta": 0, "xlm-roberta": 0}  # the library's ids of the first symbols of encoders
BEFORE_SOURCE = {"bart": [0], **{name: [begin] for name, begin in CLS.items()}}  # the library's ids
START = {**BEFORE_SOURCE, "bart": [2, 0]}  # the first ids of a decoder, 0 for T5
BEAM, LONGEST = 3, 15


@dataclass
class Twins:
    """A model of the library, the same model imported, and the maps between their ids."""

    reference: Any
    model: Any
    folder: Path
    source_prefix: list[int]
    start: list[int]
    to_symbols: Tensor  # fairseq's symbol of each of the library's ids
    to_library_ids: Tensor

    @property
    def pad(self) -> int:
        return int(self.to_library_ids[PAD])

    def sources(self) -> tuple[Tensor, Tensor]:
        """Returns the same sentences, padded on the right, for the library and for us."""
        torch.manual_seed(2)
        rows = [torch.randint(5, len(self.to_symbols), (length,)) for length in SOURCE_LENGTHS]
        end = int(self.to_library_ids[EOS])
        library_rows = [torch.tensor([*self.source_prefix, *row.tolist(), end]) for row in rows]
        our_rows = [torch.tensor([*self.to_symbols[row].tolist(), EOS]) for row in rows]
        return padded(library_rows, self.pad), padded(our_rows, PAD)

    def targets(self, length: int = 6) -> tuple[Tensor, Tensor]:
        """Returns the same decoder inputs for the library and for us."""
        words = torch.randint(5, len(self.to_symbols), (len(SOURCE_LENGTHS), length))
        library_rows = torch.cat([torch.tensor(self.start).expand(len(words), -1), words], 1)
        return library_rows, torch.cat([torch.full((len(words), 1), EOS), self.to_symbols[words]], 1)


def padded(rows: list[Tensor], pad: int) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=pad)


def source_lengths(tokens: Tensor) -> Tensor:
    return tokens.ne(PAD).sum(1)


@pytest.fixture(scope="module", params=[*pretrained.MAKERS, "umt5", *(name for name in CLS if name != "bert")])
def twins(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Twins:
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    reference = pretrained.make(name, folder / "theirs")
    out = pretrained.imported(folder / "theirs", folder / "ours")
    model = pretrained.build(out)
    if name in CLS:
        reference = encoder_twice(folder / "theirs", model, CLS[name])
    return Twins(
        reference, model, out, BEFORE_SOURCE.get(name, []), START.get(name, [0]), *pretrained.ids_of_symbols(out)
    )


def encoder_twice(folder: Path, model: Any, begin: int) -> Any:
    """Builds the library's encoder-decoder of one encoder twice, with the random cross-attention of ``model``."""
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, EncoderDecoderModel

    decoder = AutoModelForCausalLM.from_pretrained(folder, is_decoder=True, add_cross_attention=True)
    cross_attention = {
        name: p for name, p in model.decoder.backbone.stack.named_parameters() if "crossattention" in name
    }
    with torch.no_grad():
        for parameter in cross_attention.values():
            parameter.mul_(10)
    decoder.base_model.load_state_dict(cross_attention, strict=False)
    encoder = AutoModelForMaskedLM.from_pretrained(folder).base_model
    model = EncoderDecoderModel(encoder=encoder, decoder=decoder)
    eos = encoder.config.eos_token_id or 3
    model.generation_config.update(
        decoder_start_token_id=begin, eos_token_id=eos, pad_token_id=encoder.config.pad_token_id
    )
    return model.eval()


@torch.no_grad()
def test_scores_match_the_library(twins: Twins) -> None:
    (library_source, source), (library_input, decoder_input) = twins.sources(), twins.targets()
    mask = library_source.ne(twins.pad).long()
    out = twins.reference(input_ids=library_source, attention_mask=mask, decoder_input_ids=library_input)
    expected = out.logits[:, len(twins.start) - 1 :]
    scores = twins.model(source, source_lengths(source), decoder_input)[0]
    assert (scores[..., twins.to_symbols] - expected).abs().max() < 1e-4
    assert expected.std() > 0.5 and (expected[0] - expected[1]).abs().max() > 0.01  # not constant


@torch.no_grad()
def test_beams_match_the_library(twins: Twins) -> None:
    """Compares only the best hypotheses, because the libraries break ties between the others differently."""
    library_source, source = twins.sources()
    eos, last = int(twins.to_library_ids[EOS]), len(twins.start) + LONGEST

    def end(ids: Tensor, scores: Tensor) -> Tensor:
        """Permits only </s> at the length limit, with its score, as fairseq does."""
        not_eos = torch.arange(scores.size(1)).ne(eos)
        return scores.masked_fill(not_eos, float("-inf")) if ids.size(1) == last else scores

    out = twins.reference.generate(
        input_ids=library_source,
        attention_mask=library_source.ne(twins.pad).long(),
        decoder_input_ids=torch.tensor(twins.start).expand(len(source), -1),
        num_beams=BEAM,
        max_new_tokens=LONGEST + 1,
        min_new_tokens=1,
        length_penalty=1.0,
        early_stopping=True,
        do_sample=False,
        forced_eos_token_id=None,
        logits_processor=[end],
        suppress_tokens=[twins.pad],  # as fairseq does
        return_dict_in_generate=True,
        output_scores=True,
    )
    generator = SequenceGenerator([twins.model], twins.model.decoder.dictionary, beam_size=BEAM, max_len_b=LONGEST)
    sample = {"net_input": {"src_tokens": source, "src_lengths": source_lengths(source)}}
    best = [hypotheses[0] for hypotheses in generator.generate([twins.model], sample)]
    for hypothesis, ids, score in zip(best, out.sequences[:, len(twins.start) :], out.sequences_scores, strict=True):
        words = twins.to_symbols[ids].tolist()
        assert hypothesis["tokens"].tolist() == words[: words.index(EOS) + 1]
        assert hypothesis["score"].item() == pytest.approx(score.item(), abs=1e-4)
    same_length = twins.reference.config.model_type == "encoder-decoder"  # some of these always reach the limit
    assert same_length or len({len(hypothesis["tokens"]) for hypothesis in best}) > 1


@torch.no_grad()
@pytest.mark.parametrize("gates", ["", ",".join(GATES)])
def test_step_by_step_decoding_equals_one_pass(twins: Twins, gates: str) -> None:
    model = deepcopy(twins.model) if not gates else pretrained.build(twins.folder, gates=gates)
    model.double()  # scores reach 40, where a step of single precision is 4e-6
    source, decoder_input = twins.sources()[1], twins.targets()[1]
    encoder_out, state = model.encoder(source, source_lengths(source)), {}
    at_once = model.decoder(decoder_input, encoder_out)[0]
    for i in range(decoder_input.size(1)):
        step = model.decoder(decoder_input[:, : i + 1], encoder_out, state)[0]
        assert (step[:, 0] - at_once[:, i]).abs().max() < 1e-5


@torch.no_grad()
def test_padding_and_batch_size_do_not_change_imported_models(twins: Twins) -> None:
    source, decoder_input = twins.sources()[1], twins.targets()[1]
    together = twins.model(source, source_lengths(source), decoder_input)[0]
    for row, length in enumerate(source_lengths(source).tolist()):
        alone = source[row : row + 1, :length]
        left_padded = torch.cat([torch.full((1, 3), PAD), alone], 1)
        for tokens in (alone, left_padded):
            scores = twins.model(tokens, source_lengths(tokens), decoder_input[row : row + 1])[0]
            assert (scores - together[row]).abs().max() < 1e-4
