"""A decoder that repeats what terminologies find, and a tagger with it: labels without any sentence."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from adaptner.adaptation.confidence.calibration import CalibrationConstants
from adaptner.errors import TermsNeeded, UnknownKind, UsageError
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.nn.decoders.crf import CRF
from adaptner.terms.features import ALONE, BEGINS, ENDS, INSIDE, TermFeatures
from adaptner.terms.label_kinds import near_labels
from adaptner.types import OUTSIDE, LabelSet

METHOD = "dictionary"  # in the manifest of such a tagger
DICTIONARY_SCORE = 3.0  # log-odds of a tag that the dictionary gives, before calibration


def dictionary_tagger(base: Base, labels: Iterable[str]) -> Tagger:
    """A tagger that finds what the terminologies of ``base`` know of the labels. Of two labels for one
    stretch of text, the longer mention wins, then the label that is named first.

    Raises TermsNeeded for a base without terminologies, UnknownKind for a label that they do not
    know, and UsageError if there is no label."""
    names = list(dict.fromkeys(labels))
    if not names or not all(name.strip() for name in names):
        raise UsageError(problem="a label has no name", remedy="name one or more, such as Disease")
    if base.dictionary is None:
        raise TermsNeeded(file=base.folder, labels=", ".join(names))
    features = base.term_features(names)
    for name in names:
        if features is None or name not in features.kinds:
            terms = base.dictionary.terms
            near = near_labels(terms, name) or terms.facts["kinds"][:5]
            raise UnknownKind(name=name, near=", ".join(near))
    assert features is not None
    encoder = base.model.encoder
    label_set = base.labels.with_labels(names)
    decoder = empty_decoder(encoder.width + features.width, label_set)
    for name in names:
        start_as_dictionary(decoder, name, encoder.width, features)
    decoder.to(encoder.device)
    kinds = {label: list(found) for label, found in features.kinds.items()}
    return Tagger(
        encoder,
        decoder,
        base.batcher,
        METHOD,
        {"base": base.method, "sentences": 0, "terms": kinds},
        base.folder,
        CalibrationConstants.of_terms(base.folder).calibration(0),
        features,
    )


def empty_decoder(width: int, labels: LabelSet) -> CRF:
    """A decoder that finds nothing: O is likelier than any other tag, whatever the states are."""
    decoder = CRF(width, labels, torch.Generator())
    with torch.no_grad():
        for p in decoder.parameters():
            p.zero_()
        decoder.bias.fill_(-1)
        decoder.bias[0, labels.index[OUTSIDE]] = 1
    return decoder


@torch.no_grad()
def start_as_dictionary(
    decoder: CRF, label: str, states: int, features: TermFeatures, score: float = DICTIONARY_SCORE
) -> None:
    """Change the label's tags in an `empty_decoder` so that the best path is that of the dictionary, and
    each of its tags has the odds exp(``score``). ``states`` is the width of the encoder's states,
    which the features follow."""
    first = states + features.columns(label).start
    index = decoder.labels.index
    for tag, column in (("B", BEGINS), ("I", INSIDE), ("E", ENDS), ("S", ALONE)):
        if (place := index.get(f"{tag}-{label}")) is not None:
            decoder.weight[0, place, first + column] = 2 * score
            decoder.bias[0, place] = decoder.bias[0, index[OUTSIDE]] - score
    if decoder.labels.scheme == "bioes":
        # A mention of one token begins too, and the last token of a longer one goes on.
        decoder.weight[0, index[f"B-{label}"], first + ALONE] = -2 * score
        decoder.weight[0, index[f"I-{label}"], first + ENDS] = -2 * score
