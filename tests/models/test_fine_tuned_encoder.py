"""The second encoder of a base: trained on sources, saved, and chosen for labels of the sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from builders import equal_parameters

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.errors import ModelUnreadable, UsageError
from adaptner.methods import method
from adaptner.methods.named.algorithm import adapt_named
from adaptner.methods.named.config import LinearFitConfig
from adaptner.methods.named.encoder_choice import encode_target
from adaptner.models.base import Base
from adaptner.models.fine_tuned_encoder import FILE
from adaptner.models.installed import base_folder, default_base
from adaptner.models.storage import WEIGHTS
from adaptner.models.tagger import Tagger
from adaptner.pretraining.from_sources import pretrain
from adaptner.training.budget import Budget
from adaptner.types import LabelSet, Sentence

QUICK = {"k": 4, "tasks": 2}
CONFIG = LinearFitConfig()


def corpora(*names: str) -> list[Corpus]:
    return [bundled_corpus(name) for name in names]


def sources(*names: str) -> list[SourceDomain]:
    return source_domains(group_by_domain(corpora(*names)))


def support(name: str) -> list[Sentence]:
    return [s for s in bundled_corpus(name).split("train") if s.entities][:8]


def one_mention(name: str) -> list[Sentence]:
    return [s for s in bundled_corpus(name).split("train") if len(s.entities) == 1]


def states_of(base: Base, sentence: Sentence) -> torch.Tensor:
    with torch.no_grad():
        return base.model.encoder(base.batcher([[sentence]]))


def adapted(base: Base, sentences: list[Sentence]) -> Tagger:
    return adapt_named(encode_target(base, sentences, CONFIG), CONFIG)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped base with a second encoder that was fine-tuned on genes."""
    torch.set_num_threads(1)
    found = tmp_path_factory.mktemp("fine-tuned") / "base"
    start = base_folder("biomedical")
    chosen = method("finetuning")(**QUICK)
    pretrain(chosen, corpora("gene"), Budget(40), found, start=start, second_encoder=True)
    return found


@pytest.fixture(scope="module")
def base(folder: Path) -> Base:
    return replace(Base.load(folder), dictionary=None, raw_sentences=[])


def test_first_encoder_is_unchanged(folder, base):
    start = base_folder("biomedical")
    assert (folder / WEIGHTS).read_bytes() == (start / WEIGHTS).read_bytes()
    assert base.method == "named"
    assert base.facts["fine_tuned_encoder"]["method"] == "finetuning"
    assert [s["domain"] for s in base.facts["fine_tuned_encoder"]["sources"]] == ["Gene"]


def test_second_encoder_is_trained_on_its_own_domains(base):
    second = base.with_fine_tuned_encoder
    assert second is not None
    assert second.model.domains == ("Gene",)
    sentence = support("gene")[0]
    assert not torch.allclose(states_of(base, sentence), states_of(second, sentence), atol=1e-2)


def test_second_encoder_loads_as_saved(base, tmp_path):
    base.save(tmp_path / "again")
    again = Base.load(tmp_path / "again")
    assert base.fine_tuned_encoder is not None
    assert again.fine_tuned_encoder is not None
    assert equal_parameters(base.fine_tuned_encoder, again.fine_tuned_encoder)
    taggers = [adapted(b, support("gene")) for b in (base, again)]
    assert equal_parameters(taggers[0].decoder, taggers[1].decoder)


def test_known_label_is_adapted_with_the_fine_tuned_encoder(base):
    assert base.fine_tuned_encoder is not None
    gene = adapted(base, support("gene"))
    assert gene.encoder is base.fine_tuned_encoder.encoder
    assert gene.facts["known"] == {"Gene": "Gene"}
    cells = adapted(base, support("cellline"))
    assert cells.encoder is base.model.encoder
    without = adapted(replace(base, fine_tuned_encoder=None), support("cellline"))
    assert equal_parameters(cells.decoder, without.decoder)


def test_fine_tuned_encoder_is_chosen_if_it_covers_two_thirds_of_the_mentions(base):
    def is_chosen(genes: int, cell_lines: int, *labels: str) -> bool:
        sentences = [*one_mention("gene")[:genes], *one_mention("cellline")[:cell_lines]]
        return encode_target(base, sentences, CONFIG, LabelSet(labels)).base is not base

    assert is_chosen(6, 0, "Gene")
    assert is_chosen(8, 4, "Gene", "CellLine")
    assert not is_chosen(7, 4, "Gene", "CellLine")
    assert not is_chosen(0, 4, "CellLine")


def test_labels_decide_if_there_is_no_mention(base):
    bare = [s.without_entities() for s in support("gene")]
    assert encode_target(base, bare, CONFIG, LabelSet(("Gene",))).base is not base
    assert encode_target(base, bare, CONFIG, LabelSet(("Gene", "CellLine"))).base is base


def test_first_encoder_is_kept_if_source_labels_are_switched_off(base):
    without_sources = CONFIG.model_copy(update={"use_source_labels": False})
    assert encode_target(base, support("gene"), without_sources, LabelSet(("Gene",))).base is base


def test_second_encoder_is_dropped_with_one_of_its_domains(base):
    """The encoder was trained on the labels of that domain."""
    assert base.of_domains(["Disease", "Gene"]).fine_tuned_encoder is base.fine_tuned_encoder
    assert base.of_domains(["Disease"]).fine_tuned_encoder is None


def test_second_encoder_is_kept_if_other_sources_are_added(base):
    learn = method("named")(**QUICK)
    more = learn.fit(sources("cellline"), Budget(2), start=base)
    assert more.fine_tuned_encoder is base.fine_tuned_encoder
    anew = learn.fit(sources("gene"), Budget(2), start=base)
    assert anew.fine_tuned_encoder is None


@pytest.mark.parametrize("name", ["hgda", "named", "wpz", "metaner"])
def test_unsuitable_methods_cannot_train_a_second_encoder(name, tmp_path):
    start = base_folder("biomedical")
    with pytest.raises(UsageError, match="--second-encoder"):
        pretrain(
            method(name)(), corpora("gene"), Budget(1), tmp_path, start=start, second_encoder=True
        )
    assert list(tmp_path.iterdir()) == []


def test_replaced_second_encoder_is_reported(folder, tmp_path):
    messages: list[str] = []
    chosen = method("finetuning")(**QUICK)
    found = pretrain(
        chosen,
        corpora("drug"),
        Budget(1),
        tmp_path,
        start=folder,
        second_encoder=True,
        tell=messages.append,
    )
    assert messages[0] == f"replacing the second encoder of {folder} (domains: Gene)"
    assert found.fine_tuned_encoder is not None
    assert found.fine_tuned_encoder.domains == ("Drug",)


def test_second_encoder_needs_a_base_to_start_from(tmp_path):
    with pytest.raises(UsageError, match="needs a base of the method named"):
        pretrain(method("finetuning")(), corpora("gene"), Budget(1), tmp_path, second_encoder=True)


def test_damaged_second_encoder_is_refused(base, tmp_path):
    base.save(tmp_path / "copy")
    path = tmp_path / "copy" / FILE
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelUnreadable, match="changed or cut off"):
        Base.load(tmp_path / "copy")


def test_second_encoder_of_the_shipped_base_has_its_source_domains():
    shipped = default_base()
    assert shipped.fine_tuned_encoder is not None
    assert set(shipped.fine_tuned_encoder.domains) == {"Disease", "Drug", "Gene", "Species"}
