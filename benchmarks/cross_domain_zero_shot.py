"""Does what crossdomain-lm generates for a target without labels still tag the source?

    .venv/bin/python benchmarks/cross_domain_zero_shot.py --seeds 1 --random-start

CoNLL03 -> SciTech without labels, as in jia2019/4. Of SciTech only bare text is taken. What is scored
is CoNLL03's test split, which nothing learns from, by θ of NER as generated for the source and as
generated for the target. Lines go to docs/results/jia2019-zero-shot.jsonl: means over the steps since
the last line of the losses, the gradient's norm and the share of clipped steps; cosines between the
embeddings and between the θ at that step. docs/results/cross-domain.md says what came of it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from adaptner.adaptation.loop import restrict_vocabulary
from adaptner.adaptation.request import AdaptRequest
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.methods.crossdomain_lm.network import LM, NER, DomainTaskStep
from adaptner.metrics.spans import score_entities
from adaptner.models.tagger import Tagger
from adaptner.reproduce.tables.protocols.jia2019 import JIA
from adaptner.training.budget import Budget
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import read_vectors

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
RECORD = ROOT / "docs" / "results" / "jia2019-zero-shot.jsonl"
SOURCE, TARGET = 0, 1
CLIP = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=1000, help="that the schedule is made for")
    parser.add_argument("--stop", type=int, default=None, help="before the last of them")
    parser.add_argument("--every", type=int, default=100, help="steps a line")
    parser.add_argument("--random-start", action="store_true", help="as in the paper")
    given = parser.parse_args()
    prepare_process()
    conll = load_corpus(SHARED / "data/news/conll03")
    text = [
        s.without_entities()
        for s in load_corpus(SHARED / "data/news/scitech").split("test")
        if len(s)
    ]
    sources = source_domains(group_by_domain([conll]), text)
    settings: dict[str, Any] = {**JIA, "decoders": "shared"}
    vectors = read_vectors(SHARED / "vectors/glove-6b-100d.npy")
    base = method("crossdomain-lm")(**settings).fit(sources, Budget(0), vectors=vectors, seed=0)
    labelled = {d.name: [s for s in d.sentences if len(s)] for d in sources}
    told = {"batch": 30, "steps": given.steps, "epochs": 0, "zero_shot": True}
    told |= {"near_start": not given.random_start, "optimiser": {"rate": given.rate}}
    chosen = method("crossdomain-lm")(**settings, adaptation=told)
    config: CrossDomainConfig = chosen.config.adaptation
    test = conll.split("test")
    for seed in given.seeds:
        request = AdaptRequest((), unlabelled=text, seed=seed)
        scene = CrossDomainObjective(base, request, config, labelled)
        restrict_vocabulary(scene)
        optimiser = scene.optimiser()
        start = "random" if given.random_start else "near"
        head = {"seed": seed, "rate": given.rate, "start": start, "steps": given.steps}
        record({**head, "step": 0, **likeness(scene)})
        seen: list[dict[str, float]] = []
        steps = islice(scene.steps(), given.stop or given.steps)
        for step, (tasks, drawn) in enumerate(steps, 1):
            metrics = step_metrics(tasks, drawn, scene.step_gradients(tasks, drawn).tolist())
            norm = optimiser.step((step - 1) / given.steps)
            seen.append({**metrics, "norm": norm, "clipped": float(norm > CLIP)})
            if step % given.every == 0:
                means = {k: round(sum(m[k] for m in seen) / len(seen), 3) for k in seen[0]}
                line = {**head, "step": step, **means, **likeness(scene)}
                if step in (given.steps // 2, given.steps):
                    line["source_f1"] = tagged(scene, SOURCE, test)
                    line["target_f1"] = tagged(scene, TARGET, test)
                record(line)
                seen.clear()


def step_metrics(
    tasks: list[DomainTaskStep], drawn: list[list[Sentence]], losses: list[float]
) -> dict[str, float]:
    """The loss of each task and the perplexity of each language model."""
    metrics = {}
    for task, sentences, loss in zip(tasks, drawn, losses, strict=True):
        side = "target" if task.domain == TARGET else "source"
        metrics[f"{side}_{'lm' if task.task == LM else 'ner'}"] = loss
        if task.task == LM:  # the loss is a sum over tokens, averaged over sentences
            per_token = loss * len(sentences) / sum(map(len, sentences))
            metrics[f"{side}_perplexity"] = math.exp(per_token)
    return metrics


def likeness(scene: CrossDomainObjective) -> dict[str, float]:
    recurrent = scene.network.recurrent
    assert recurrent.domains is not None
    assert recurrent.tasks is not None
    with torch.no_grad():
        pairs = [(SOURCE, NER), (TARGET, NER), (SOURCE, LM), (TARGET, LM)]
        layers = recurrent.mixtures(pairs) @ recurrent.weight
    found = {
        "cos_domain": recurrent.domains.detach(),
        "cos_task": recurrent.tasks.detach(),
        "cos_theta_ner": layers[:2],
        "cos_theta_lm": layers[2:],
    }
    return {
        name: round(float(torch.cosine_similarity(x[0], x[1], 0)), 3) for name, x in found.items()
    }


def tagged(scene: CrossDomainObjective, domain: int, test: tuple[Sentence, ...]) -> float:
    """F1 on sentences of the source, with the layer that is generated for a domain."""
    network = scene.network
    network.install_generated(domain)
    decoder = network.model.decoder_of(domain)
    tagger = Tagger(network.model.encoder, decoder, scene.batcher, "crossdomain-lm")
    found = score_entities([s.entities for s in test], tagger.predict_sentences(test))
    return round(100 * found.overall.f1, 1)


def record(line: dict[str, Any]) -> None:
    with RECORD.open("a") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


if __name__ == "__main__":
    main()
