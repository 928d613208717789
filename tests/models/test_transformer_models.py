"""Bases and taggers with a transformer: saved, they need nothing but their folder."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.sources import SourceDomain
from adaptner.errors import IncompatibleMethod, ModelUnreadable
from adaptner.methods import method
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.models.base import Base
from adaptner.models.tagger import Tagger
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import Sentence

TEXTS = ["HeLa cells express the p53 gene.", "Ω-3 of mutated MCF-7 " * 30]


def settings(folder: Path, **encoder: Any) -> dict[str, Any]:
    given = transformer_settings(method("hgda"), str(folder))
    given["encoder"] |= {"max_length": 40, "overlap": 8, **encoder}
    given["adaptation"] = {"steps": 4, "epochs": 0, "optimiser": {"rate": 0.05}}
    return {**given, "k": 2, "tasks": 2}


@pytest.fixture(scope="module")
def support() -> list[Sentence]:
    return bundled_corpus("cellline").split("train")[:8]


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoder",
    [{}, {"lora": 2}, {"subwords": "mean", "layer_decay": 0.5}, {"frozen_layers": 1}],
    ids=str,
)
def test_saved_and_loaded_from_the_folder_alone(
    tiny_transformer: Path,
    tmp_path: Path,
    sources: list[SourceDomain],
    support: list[Sentence],
    encoder: dict[str, Any],
) -> None:
    given = tmp_path / "given"
    shutil.copytree(tiny_transformer, given)
    chosen = method("hgda")(**settings(given, **encoder))
    base = chosen.fit(sources, Budget(2), seed=1)
    base.save(tmp_path / "base")
    shutil.rmtree(given)  # nobody needs it any more
    loaded = Base.load(tmp_path / "base")
    taggers = [chosen.adapt(b, support, seed=2) for b in (base, loaded)]
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


def test_several_threads_may_tag_at_once(tiny_transformer: Path, support: list[Sentence]) -> None:
    chosen = method("in-domain")(**_known(settings(tiny_transformer)))
    tagger = chosen.adapt(chosen.fit([], Budget(0)), support)
    texts = [f"{text} {n}" for n in range(6) for text in TEXTS]
    expected = [tagger.predict([text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: tagger.predict([text]), texts)) == expected


def test_a_changed_file_is_noticed(
    tiny_transformer: Path, tmp_path: Path, sources: list[SourceDomain]
) -> None:
    method("in-domain")(**_known(settings(tiny_transformer))).fit([], Budget(0)).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace("gene", "gone"))
    with pytest.raises(ModelUnreadable, match=r"tokenizer\.json is changed"):
        Base.load(tmp_path)


def _known(given: dict[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in given.items() if n in method("in-domain").Config.model_fields}


def test_an_interrupted_run_ends_in_the_same_bytes(
    tiny_transformer: Path, tmp_path: Path, sources: list[SourceDomain]
) -> None:
    class Interrupted(Exception):
        pass

    def stop(done: int, total: int, remark: str = "") -> None:
        if done == 3:
            raise Interrupted

    chosen = method("hgda")(**settings(tiny_transformer))
    chosen.fit(sources, Budget(4), run=TrainingRun(tmp_path / "whole", "same")).save(
        tmp_path / "whole"
    )
    first = TrainingRun(tmp_path / "parts", "same", checkpoint_seconds=0, progress=stop)
    with pytest.raises(Interrupted):
        chosen.fit(sources, Budget(4), run=first)
    again = chosen.fit(sources, Budget(4), run=TrainingRun(tmp_path / "parts", "same", resume=True))
    again.save(tmp_path / "parts")
    whole, parts = ((tmp_path / n / "weights.safetensors").read_bytes() for n in ("whole", "parts"))
    assert whole == parts


def test_methods_that_need_a_bilstm_say_so(
    tiny_transformer: Path, sources: list[SourceDomain], support: list[Sentence]
) -> None:
    base = method("in-domain")(**_known(settings(tiny_transformer))).fit([], Budget(0))
    for name, what in (("named", "decoder is softmax"), ("crossdomain-lm", "decoder is softmax")):
        with pytest.raises(IncompatibleMethod, match=what):
            method(name)().adapt(base, support, sources=sources)
    given = {**_known(settings(tiny_transformer)), "tag_head": "crf"}
    base = method("in-domain")(**given).fit([], Budget(0))
    with pytest.raises(IncompatibleMethod, match="encoder is transformer, not recurrent"):
        method("named")().adapt(base, support)
    taught = method("hgda")(**settings(tiny_transformer)).fit(sources, Budget(1))
    with pytest.raises(IncompatibleMethod, match="its encoder was trained on the sources"):
        method("in-domain")().adapt(taught, support)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["finetuning", "multitask", "agg", "dann", "metaner", "wpz"])
def test_other_methods_learn_with_it_too(
    tiny_transformer: Path, sources: list[SourceDomain], support: list[Sentence], name: str
) -> None:
    kind = method(name)
    given = {n: v for n, v in settings(tiny_transformer).items() if n in kind.Config.model_fields}
    if name == "wpz":
        del given["tag_head"]
    chosen = kind(**given)
    base = chosen.fit(sources, Budget(1))
    tagger = chosen.adapt(base, support, sources=sources, budget=Budget(2))
    assert len(tagger.predict(TEXTS)) == 2
    moved = tagger.state_dict()["encoder.network.encoder.layer.0.output.dense.weight"]
    assert not torch.equal(
        moved, base.model.state_dict()["encoder.network.encoder.layer.0.output.dense.weight"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pdaln", "la-dtl", "datnet"])
@pytest.mark.parametrize("encoder", [{}, {"frozen_layers": 1}], ids=str)
def test_methods_that_read_the_sources_learn_with_it(
    tiny_transformer: Path, sources: list[SourceDomain], name: str, encoder: dict[str, Any]
) -> None:
    """Semi-supervised and, where it can, without labels; with words below the layers that learn too."""
    kind = method(name)
    given = {
        n: v
        for n, v in settings(tiny_transformer, **encoder).items()
        if n in kind.Config.model_fields
    }
    chosen = kind(**{**given, "tag_head": "crf"})
    base = chosen.fit(sources, Budget(1))
    own, text = sources[0].sentences[:6], [s.without_entities() for s in sources[0].sentences[6:12]]
    without = {"adaptation": {"zero_shot": True}}
    for told in (
        (chosen, kind(chosen.config, **without)) if chosen.capabilities.zero_shot else (chosen,)
    ):
        tagger = told.adapt(
            base,
            own,
            sources=sources,
            unlabelled=text if chosen.capabilities.reads_text else (),
            budget=Budget(4),
        )
        assert len(tagger.predict(TEXTS)) == 2
        place = "encoder.network.encoder.layer.{}.output.dense.weight"
        moved = [
            not torch.equal(tagger.state_dict()[name], base.model.state_dict()[name])
            for name in (place.format(0), place.format(1))
        ]
        assert moved == [not encoder, True]
