"""Peak memory of cross-domain learning from raw text: 400,000 sentences a side, streamed.

    .venv/bin/python benchmarks/cross_domain_memory.py [--sentences N] [--steps N]

CoNLL03 -> BioNLP13PC with GloVe 100-d and the paper's sizes; the source's raw text is that of articles in
biology, the target's that of articles in chemistry (the shared folder), which is all the same to memory.
The last line printed is ``peak: N MB``; under 3,000 is wanted.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
from adaptner.adaptation.loop import run
from adaptner.adaptation.request import AdaptRequest
from adaptner.compute import prepare_process
from adaptner.corpora.corpus import group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.methods import method
from adaptner.methods.crossdomain_lm.algorithm import CrossDomainObjective
from adaptner.methods.crossdomain_lm.config import CrossDomainConfig
from adaptner.training.budget import Budget
from adaptner.vectors.word_vectors import read_vectors

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=400_000)
    parser.add_argument("--steps", type=int, default=20)
    asked = parser.parse_args()
    prepare_process()
    sources = source_domains(group_by_domain([load_corpus(SHARED / "data/news/conll03")]))
    chosen = method("crossdomain-lm")()
    vectors = read_vectors(SHARED / "vectors/glove-6b-100d.npy")
    base = chosen.fit(sources, Budget(0), vectors=vectors)
    target = load_corpus(SHARED / "data/bio-extra/bionlp13pc").split("train")
    config = CrossDomainConfig(
        batch=30,
        source_text=(str(SHARED / "data/raw/elife.txt.xz"),),
        target_text=(str(SHARED / "data/raw/pmc-chemistry-species.txt.xz"),),
        source_sentences=asked.sentences,
        target_sentences=asked.sentences,
    )
    begun = time.perf_counter()
    steps: list[float] = []

    def progress(done: int, total: int, remark: str = "") -> None:
        steps.append(time.perf_counter())

    request = AdaptRequest(target, budget=Budget(asked.steps), progress=progress)
    labelled = chosen.labelled(base, sources)
    tagger = run(CrossDomainObjective(base, request, config, labelled))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{tagger.facts['unlabelled']:,} raw sentences a side; {steps[0] - begun:.0f} s to the end of "
        f"the first step (reading and counting), then {len(steps) - 1} steps in "
        f"{steps[-1] - steps[0]:.0f} s"
    )
    print(f"peak: {peak:,.0f} MB")
    sys.exit(peak > 3000)


if __name__ == "__main__":
    main()
