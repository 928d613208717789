"""Peak memory of a meta-step through MiniLM, and processor time of its fine-tuning.

    .venv/bin/python benchmarks/transformer_step.py

Each figure comes from a separate process with one thread: HGDA* with m = 4 tasks of K = 10 + 10 sentences
(NCBI-disease, BC5CDR-drug and JNLPBA, or the bundled corpora if these are absent), and fine-tuning on 50
sentences of NCBI-disease for 100 steps in batches of 10. Memory is the maximum resident set of the process
("idle": PyTorch and ``transformers`` alone). The last lines are ``peak`` (aim: below 3,000 MB) and
``fine-tuning`` (aim: below 60 s).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
from adaptner.compute import prepare_process
from adaptner.corpora.bundled import bundled_corpus
from adaptner.corpora.corpus import Corpus, group_by_domain, load_corpus
from adaptner.corpora.sources import source_domains
from adaptner.episodes import draw_sentences
from adaptner.methods import method
from adaptner.methods.base import Method
from adaptner.methods.transformer_settings import transformer_settings
from adaptner.training.budget import Budget

DATA = Path(__file__).resolve().parents[2] / "shared/data/bio8"
REAL = ("ncbi-disease", "bc5cdr-chem", "jnlpba")
OWN = ("disease", "drug", "gene")


def corpora() -> list[Corpus]:
    if DATA.is_dir():
        return [load_corpus(DATA / name) for name in REAL]
    return [bundled_corpus(name) for name in OWN]


def make_method(name: str, encoder: str, **settings: object) -> Method:
    kind = method(name)
    return kind(kind(**transformer_settings(kind, encoder)).config, **settings)


def used() -> tuple[float, float]:
    """Seconds of user time and peak megabytes so far."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime, now.ru_maxrss / 1024


def idle(encoder: str) -> None:
    make_method("in-domain", encoder).fit(source_domains(group_by_domain(corpora())), Budget(0))
    print(f"{used()[1]:.0f}")


def meta_step(encoder: str, steps: int) -> None:
    sources = source_domains(group_by_domain(corpora()))
    chosen = make_method("hgda", encoder, k=10, tasks=4)
    seconds: list[float] = []
    chosen.fit(sources, Budget(0))
    start = used()[0]

    from adaptner.training.loop import TrainingRun

    def progress(done: int, total: int, remark: str = "") -> None:
        seconds.append(used()[0])

    chosen.fit(sources, Budget(steps), run=TrainingRun(progress=progress))
    each = (seconds[-1] - seconds[0]) / (steps - 1) if steps > 1 else seconds[-1] - start
    print(f"{used()[1]:.0f} {each:.2f}")


def fine_tuning(encoder: str, steps: int) -> None:
    target = corpora()[0]
    chosen = make_method("in-domain", encoder)
    base = chosen.fit(source_domains(group_by_domain([target])), Budget(0))
    support = draw_sentences(target.split("train"), min(50, len(target.split("train"))), 0)
    start = used()[0]
    chosen.adapt(base, support, budget=Budget(steps))
    print(f"{used()[0] - start:.1f} {used()[1]:.0f}")


def in_own_process(part: str, encoder: str, steps: int) -> list[float]:
    command = [
        sys.executable,
        __file__,
        "--part",
        part,
        "--encoder",
        encoder,
        "--steps",
        str(steps),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(figure) for figure in done.stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="minilm")
    parser.add_argument("--steps", type=int, default=100, help="of fine-tuning")
    parser.add_argument("--part", choices=("idle", "step", "tune"))
    given = parser.parse_args()
    prepare_process()
    if given.part == "idle":
        idle(given.encoder)
    elif given.part == "step":
        meta_step(given.encoder, given.steps)
    elif given.part == "tune":
        fine_tuning(given.encoder, given.steps)
    else:
        (base,) = in_own_process("idle", given.encoder, 0)
        peak, each = in_own_process("step", given.encoder, 5)
        seconds, tuning = in_own_process("tune", given.encoder, given.steps)
        print(f"idle: {base:.0f} MB")
        print(f"a meta-step: {each:.2f} s of processor time")
        print(f"fine-tuning, 50 sentences, {given.steps} steps: peak {tuning:.0f} MB")
        print(f"peak: {peak:.0f} MB\nfine-tuning: {seconds:.1f} s")
        sys.exit(peak > 3000 or seconds > 60)


if __name__ == "__main__":
    main()
