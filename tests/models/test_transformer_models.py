"""Bases and taggers with a transformer: saving, resuming, and the methods that train them."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptner.corpora.bundled import bundled_corpus
from adaptner.errors import IncompatibleMethod, ModelUnreadable
from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.models.base import Base
from adaptner.models.storage import WEIGHTS
from adaptner.models.tagger import Tagger
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import Sentence

TEXTS = ["HeLa cells express the p53 gene.", "Ω-3 of mutated MCF-7 " * 30]


def learner(name: str, folder: Path, tag_head: str | None = None, **encoder: Any) -> Method:
    """A method with the transformer in ``folder`` and few steps."""
    kind = method(name)
    settings: dict[str, Any] = transformer_settings(kind, str(folder))
    settings["encoder"] |= {"max_length": 40, "overlap": 8, **encoder}
    settings |= {"adaptation": {"steps": 4, "epochs": 0, "optimiser": {"rate": 0.05}}}
    settings |= {"k": 2, "tasks": 2} | ({"tag_head": tag_head} if tag_head else {})
    return kind(**{n: v for n, v in settings.items() if n in kind.Config.model_fields})


@pytest.fixture(scope="module")
def support() -> list[Sentence]:
    return bundled_corpus("cellline").split("train")[:8]


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoder",
    [{}, {"lora": 2}, {"subwords": "mean", "layer_decay": 0.5}, {"frozen_layers": 1}],
    ids=str,
)
def test_saved_folder_contains_the_transformer(
    tiny_transformer, tmp_path, sources, support, encoder
):
    folder = tmp_path / "transformer"
    shutil.copytree(tiny_transformer, folder)
    hgda = learner("hgda", folder, **encoder)
    base = hgda.fit(sources, Budget(2), seed=1)
    base.save(tmp_path / "base")
    shutil.rmtree(folder)  # is needed no more
    loaded = Base.load(tmp_path / "base")
    taggers = [hgda.adapt(b, support, seed=2) for b in (base, loaded)]
    taggers[1].save(tmp_path / "tagger")
    taggers.append(Tagger.load(tmp_path / "tagger"))
    first, *others = (
        {n: t for n, t in tagger.state_dict().items() if "position_ids" not in n}
        for tagger in taggers
    )
    for other in others:
        assert first.keys() == other.keys()
        assert all(torch.equal(t, other[n]) for n, t in first.items())
    expected = taggers[0].predict(TEXTS)
    assert all(tagger.predict(TEXTS) == expected for tagger in taggers[1:])
    names = {path.name for path in (tmp_path / "tagger").iterdir()}
    assert names == {"manifest.json", "weights.safetensors", "encoder.json", "tokenizer.json"}
    manifest = json.loads((tmp_path / "tagger" / "manifest.json").read_text())
    assert manifest["files"].keys() == names - {"manifest.json"}
    assert manifest["encoder"]["kind"] == "transformer"


def test_several_threads_may_tag_at_once(tiny_transformer, support):
    in_domain = learner("in-domain", tiny_transformer)
    tagger = in_domain.adapt(in_domain.fit([], Budget(0)), support)
    texts = [f"{text} {n}" for n in range(6) for text in TEXTS]
    expected = [tagger.predict([text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: tagger.predict([text]), texts)) == expected


def test_changed_tokenizer_is_refused(tiny_transformer, tmp_path):
    learner("in-domain", tiny_transformer).fit([], Budget(0)).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace("gene", "gone"))
    with pytest.raises(ModelUnreadable, match=r"tokenizer\.json is changed"):
        Base.load(tmp_path)


def test_resumed_run_gives_the_same_bytes(tiny_transformer, tmp_path, sources):
    class Interrupted(Exception):
        pass

    def stop(done: int, total: int, remark: str = "") -> None:
        if done == 3:
            raise Interrupted

    hgda, whole, parts = learner("hgda", tiny_transformer), tmp_path / "whole", tmp_path / "parts"
    hgda.fit(sources, Budget(4), run=TrainingRun(whole, "same")).save(whole)
    run = TrainingRun(parts, "same", checkpoint_seconds=0, progress=stop)
    with pytest.raises(Interrupted):
        hgda.fit(sources, Budget(4), run=run)
    hgda.fit(sources, Budget(4), run=TrainingRun(parts, "same", resume=True)).save(parts)
    assert (whole / WEIGHTS).read_bytes() == (parts / WEIGHTS).read_bytes()


def test_incompatible_methods_are_refused_with_a_reason(tiny_transformer, sources, support):
    base = learner("in-domain", tiny_transformer).fit([], Budget(0))
    for name in ("named", "crossdomain-lm"):
        with pytest.raises(IncompatibleMethod, match="decoder is softmax"):
            method(name)().adapt(base, support, sources=sources)
    base = learner("in-domain", tiny_transformer, tag_head="crf").fit([], Budget(0))
    with pytest.raises(IncompatibleMethod, match="encoder is transformer, not recurrent"):
        method("named")().adapt(base, support)
    base = learner("hgda", tiny_transformer).fit(sources, Budget(1))
    with pytest.raises(IncompatibleMethod, match="its encoder was trained on the sources"):
        method("in-domain")().adapt(base, support)


LAYER = "encoder.network.encoder.layer.{}.output.dense.weight"


def is_trained(base: Base, tagger: Tagger, layer: int) -> bool:
    name = LAYER.format(layer)
    return not torch.equal(tagger.state_dict()[name], base.model.state_dict()[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["finetuning", "multitask", "agg", "dann", "metaner", "wpz"])
def test_other_methods_train_the_transformer(tiny_transformer, sources, support, name):
    trained = learner(name, tiny_transformer)
    base = trained.fit(sources, Budget(1))
    tagger = trained.adapt(base, support, sources=sources, budget=Budget(2))
    assert len(tagger.predict(TEXTS)) == 2
    assert is_trained(base, tagger, layer=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pdaln", "la-dtl", "datnet"])
@pytest.mark.parametrize("encoder", [{}, {"frozen_layers": 1}], ids=str)
def test_methods_that_read_the_sources_train_the_transformer(
    tiny_transformer, sources, name, encoder
):
    """With labelled sentences and, if the method can, without."""
    supervised = learner(name, tiny_transformer, tag_head="crf", **encoder)
    base = supervised.fit(sources, Budget(1))
    sentences = sources[0].sentences
    learners = [supervised]
    if supervised.capabilities.zero_shot:
        learners.append(method(name)(supervised.config, adaptation={"zero_shot": True}))
    reads_text = supervised.capabilities.reads_text
    for own in learners:
        tagger = own.adapt(
            base,
            sentences[:6],
            sources=sources,
            unlabelled=[s.without_entities() for s in sentences[6:12]] if reads_text else (),
            budget=Budget(4),
        )
        assert len(tagger.predict(TEXTS)) == 2
        assert is_trained(base, tagger, layer=0) == (not encoder)
        assert is_trained(base, tagger, layer=1)
