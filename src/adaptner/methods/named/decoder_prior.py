"""The decoder before it is fitted: from a matching source label or, for a new label, from the
meaning of the label's name."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from adaptner.adaptation.dictionary_tagger import empty_decoder, start_as_dictionary
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.label_matching import LabelMatch
from adaptner.models.base import Base
from adaptner.nn.batching.word_batch import WordBatcher
from adaptner.nn.decoders.crf import CRF
from adaptner.nn.encoders.lexical_features import WORD_LENGTH, word_part
from adaptner.nn.encoders.recurrent import RecurrentEncoder
from adaptner.nn.heads.label_probes import BORDER_BEGIN, BORDER_INSIDE, BORDER_OUTSIDE
from adaptner.terms.features import TermFeatures
from adaptner.types import LabelSet

_STATE_SCALE = 0.5  # of a name's log-odds by state, to balance it with the score of its word


def decoder_prior(
    base: Base,
    labels: LabelSet,
    config: LinearFitConfig,
    matches: Mapping[str, LabelMatch] = {},
    features: TermFeatures | None = None,
) -> CRF:
    """A decoder in which O is likely and entities continue. A matched label has the scores of its
    source label. A label that a terminology knows begins as its dictionary, exactly. The others score
    words and states by similarity to the label's name."""
    encoder, batcher = base.model.encoder, base.batcher
    assert isinstance(batcher, WordBatcher)
    assert isinstance(encoder, RecurrentEncoder)
    term_width = 0 if features is None else features.width
    decoder = empty_decoder(encoder.width + term_width, labels)
    directions, probes = batcher.vectors.directions, base.label_probes
    if not encoder.config.lexical_features:
        directions = probes = None
    of_states = slice(0, encoder.recurrent.width)
    of_word = word_part(encoder.recurrent.width, batcher.vectors.width)
    state_share = config.state_share if probes is not None else 0.0
    with torch.no_grad():
        weight, bias = decoder.weight[0], decoder.bias[0]
        for label in labels.labels:
            if features is not None and label in features.kinds:
                start_as_dictionary(decoder, label, encoder.width, features, config.term_score)
                continue
            if label in matches:
                continue
            tags = {tag: i for tag, i in labels.index.items() if tag[2:] == label}
            every = list(tags.values())
            inside = [i for tag, i in tags.items() if tag[0] in "IE"]
            decoder.transition[0, torch.tensor(every)[:, None], torch.tensor(inside)] = 0.5
            if directions is not None and (direction := directions.direction(label)) is not None:
                scaled = (1 - state_share) * config.name_weight * torch.from_numpy(direction)
                weight[every, of_word] += scaled / WORD_LENGTH
                bias[every] -= scaled @ torch.from_numpy(directions.middle)
            if probes is None:
                continue
            if (row := probes.row(label)) is not None:
                scale = _STATE_SCALE * state_share * config.name_weight
                weight[every, of_states] += scale * probes.weight[row]
                bias[every] += scale * (probes.bias[row] + config.entity_bias)
            for tag, i in tags.items():
                border = BORDER_INSIDE if tag[0] in "IE" else BORDER_BEGIN
                difference = probes.border_weight[border] - probes.border_weight[BORDER_OUTSIDE]
                weight[i, of_states] += config.border_weight * difference
                shift = probes.border_bias[border] - probes.border_bias[BORDER_OUTSIDE]
                bias[i] += config.border_weight * shift
    decoder.to(encoder.device)
    for label, match in matches.items():
        if features is None or label not in features.kinds:
            match.copy_to(decoder, label)
    return decoder
