"""Tests whether crossdomain-lm keeps the source task while it adapts to a target without labels.

    .venv/bin/python benchmarks/cross_domain_zero_shot.py --seeds 1 --random-start

The setting is CoNLL03 to SciTech as in jia2019/4, with the raw text of SciTech only. Half-way and at the
end, the NER parameters generated for the source and for the target are scored on CoNLL03's test split,
which is not used for training. Lines of docs/results/jia2019-zero-shot.jsonl have means over the steps
since the previous line (losses, gradient norm, share of clipped steps) and cosines at that step (between
embeddings and between generated parameters). docs/results/cross-domain.md discusses the results.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import islice
from typing import Any

import torch
from common import RESULTS, score_tagger, shared_corpus, shared_vectors, without_labels

from adaptner.adaptation.loop import restrict_vocabulary
from adaptner.adaptation.request import AdaptRequest
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.network import LM, NER, DomainTaskStep
from adaptner.models.tagger import Tagger
from adaptner.reproduce.tables.protocols.jia2019 import JIA
from adaptner.training.budget import Budget
from adaptner.types import Sentence

SOURCE, TARGET = 0, 1
CLIP = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=1000, help="length of the schedule")
    parser.add_argument("--stop", type=int, help="stop the schedule early, after this step")
    parser.add_argument("--every", type=int, default=100, help="steps per line")
    parser.add_argument(
        "--random-start", action="store_true", help="random embeddings as in the paper"
    )
    options = parser.parse_args()
    prepare_process()
    conll = shared_corpus("news/conll03")
    text = without_labels(shared_corpus("news/scitech").split("test"))
    sources = source_domains(group_by_domain([conll]), text)
    settings: dict[str, Any] = {**JIA, "decoders": "shared"}
    vectors = shared_vectors("glove-6b-100d.npy")
    base = method("crossdomain-lm")(**settings).fit(sources, Budget(0), vectors=vectors, seed=0)
    labelled = {d.name: [s for s in d.sentences if len(s)] for d in sources}
    adaptation = {"batch": 30, "steps": options.steps, "epochs": 0, "zero_shot": True}
    adaptation |= {"near_start": not options.random_start, "optimiser": {"rate": options.rate}}
    config = method("crossdomain-lm")(**settings, adaptation=adaptation).config.adaptation
    for seed in options.seeds:
        request = AdaptRequest((), unlabelled=text, seed=seed)
        objective = CrossDomainObjective(base, request, config, labelled)
        trace(objective, options, seed, conll.split("test"))


def trace(
    objective: CrossDomainObjective,
    options: argparse.Namespace,
    seed: int,
    test: tuple[Sentence, ...],
) -> None:
    """Adapts with one seed and records the progress."""
    restrict_vocabulary(objective)
    optimiser = objective.optimiser()
    start = "random" if options.random_start else "near"
    run = {"seed": seed, "rate": options.rate, "start": start, "steps": options.steps}
    record({**run, "step": 0, **cosines(objective)})
    metrics: list[dict[str, float]] = []
    steps = islice(objective.steps(), options.stop or options.steps)
    for step, (tasks, drawn) in enumerate(steps, 1):
        losses = objective.step_gradients(tasks, drawn).tolist()
        norm = optimiser.step((step - 1) / options.steps)
        clipped = {"norm": norm, "clipped": float(norm > CLIP)}
        metrics.append({**step_metrics(tasks, drawn, losses), **clipped})
        if step % options.every == 0:
            means = {k: round(sum(m[k] for m in metrics) / len(metrics), 3) for k in metrics[0]}
            line = {**run, "step": step, **means, **cosines(objective)}
            if step in (options.steps // 2, options.steps):
                line["source_f1"] = f1_with_parameters_of(objective, SOURCE, test)
                line["target_f1"] = f1_with_parameters_of(objective, TARGET, test)
            record(line)
            metrics.clear()


def step_metrics(
    tasks: list[DomainTaskStep], drawn: list[list[Sentence]], losses: list[float]
) -> dict[str, float]:
    """Returns the loss of each task and the perplexity of each language model."""
    metrics = {}
    for task, sentences, loss in zip(tasks, drawn, losses, strict=True):
        side = "target" if task.domain == TARGET else "source"
        metrics[f"{side}_{'lm' if task.task == LM else 'ner'}"] = loss
        if task.task == LM:  # the loss is a sum over tokens, averaged over sentences
            per_token = loss * len(sentences) / sum(map(len, sentences))
            metrics[f"{side}_perplexity"] = math.exp(per_token)
    return metrics


def cosines(objective: CrossDomainObjective) -> dict[str, float]:
    """Returns cosines between the two domains, the two tasks and the generated parameters."""
    recurrent = objective.network.recurrent
    assert recurrent.domains is not None
    assert recurrent.tasks is not None
    with torch.no_grad():
        pairs = [(SOURCE, NER), (TARGET, NER), (SOURCE, LM), (TARGET, LM)]
        layers = recurrent.mixtures(pairs) @ recurrent.weight
    vectors = {
        "cos_domain": recurrent.domains.detach(),
        "cos_task": recurrent.tasks.detach(),
        "cos_theta_ner": layers[:2],
        "cos_theta_lm": layers[2:],
    }
    return {
        name: round(float(torch.cosine_similarity(x[0], x[1], 0)), 3) for name, x in vectors.items()
    }


def f1_with_parameters_of(
    objective: CrossDomainObjective, domain: int, test: tuple[Sentence, ...]
) -> float:
    network = objective.network
    network.install_generated(domain)
    decoder = network.model.decoder_of(domain)
    tagger = Tagger(network.model.encoder, decoder, objective.batcher, "crossdomain-lm")
    return round(100 * score_tagger(tagger, test).f1, 1)


def record(line: dict[str, Any]) -> None:
    with (RESULTS / "jia2019-zero-shot.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    print(line, flush=True)


if __name__ == "__main__":
    main()
