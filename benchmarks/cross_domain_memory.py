"""Measures the peak memory of crossdomain-lm with 400,000 streamed raw sentences per domain.

    .venv/bin/python benchmarks/cross_domain_memory.py [--sentences N] [--steps N]

The setting is CoNLL03 to BioNLP13PC with 100-d GloVe vectors and the sizes of the paper. The raw text
comes from articles in biology and chemistry; its topic does not matter for memory. The last line is
``peak: N MB``; the exit code is 1 above 3,000 MB.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time

from common import SHARED, shared_corpus, shared_vectors

from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.training.budget import Budget


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=400_000, help="raw sentences per domain")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    prepare_process()
    sources = source_domains(group_by_domain([shared_corpus("news/conll03")]))
    learner = method("crossdomain-lm")()
    base = learner.fit(sources, Budget(0), vectors=shared_vectors("glove-6b-100d.npy"))
    target = shared_corpus("bio-extra/bionlp13pc").split("train")
    config = CrossDomainConfig(
        batch=30,
        source_text=(str(SHARED / "data/raw/elife.txt.xz"),),
        target_text=(str(SHARED / "data/raw/pmc-chemistry-species.txt.xz"),),
        source_sentences=options.sentences,
        target_sentences=options.sentences,
    )
    start = time.perf_counter()
    steps: list[float] = []

    def progress(done: int, total: int, remark: str = "") -> None:
        steps.append(time.perf_counter())

    request = AdaptRequest(target, budget=Budget(options.steps), progress=progress)
    tagger = run(CrossDomainObjective(base, request, config, learner.labelled(base, sources)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{tagger.facts['unlabelled']:,} raw sentences per domain; {steps[0] - start:.0f} s until the "
        f"end of the first step (with reading and counting), then {len(steps) - 1} steps in "
        f"{steps[-1] - steps[0]:.0f} s"
    )
    print(f"peak: {peak:,.0f} MB")
    sys.exit(peak > 3000)


if __name__ == "__main__":
    main()
