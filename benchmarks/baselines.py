"""The baselines on real corpora: the tables of docs/results/baselines.md.

    .venv/bin/python benchmarks/baselines.py few-shot --targets ncbi-disease bc2gm
    .venv/bin/python benchmarks/baselines.py rates
    .venv/bin/python benchmarks/baselines.py homogeneous
    .venv/bin/python benchmarks/baselines.py heterogeneous
    .venv/bin/python benchmarks/baselines.py ablation
    .venv/bin/python benchmarks/baselines.py report

Every cell (method, target, size, seed) is one line of docs/results/baselines/TABLE.jsonl, written
when it is done; a cell that is there is not computed again, so a run that was stopped goes on where
it was. Bases are kept in runs/baselines. Two processes may share a table if their targets differ.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Any

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus, group_by_domain, load_corpus
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.episodes import draw_sentences, draw_share
from adaptner.methods import method
from adaptner.methods.metaner import ENCODER
from adaptner.metrics.spans import score_entities
from adaptner.models.base import Base
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import Sentence
from adaptner.vectors.word_vectors import read_vectors

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
RESULTS = ROOT / "docs" / "results" / "baselines"
BASES = ROOT / "runs" / "baselines"
BIO8 = (
    *("ncbi-disease", "bc5cdr-disease", "bc5cdr-chem", "bc4chemd-sub"),
    *("jnlpba", "bc2gm", "linnaeus", "s800"),
)
HOMOGENEOUS = (
    *("news/conll03", "news/scitech", "general/wikigold"),
    *("general/sec", "general/wnut16-conll", "general/webpage"),
)
HETEROGENEOUS = ("news/conll03", "general/wnut17", "general/wikigold")
# These learn from the sources what FineTuning learns: one base serves them all.
SAME_BASE = dict.fromkeys(("agg", "multitask", "dann", "d-shift"), "finetuning")
METANER_ENCODER = {**ENCODER.model_dump(mode="json"), "word_width": 100}


@dataclass(frozen=True)
class Setting:
    """What all methods of a table share."""

    table: str
    vectors: str
    iterations: int
    seeds: int
    learning: dict[str, Any]  # settings of the methods
    adaptation: dict[str, Any]


FEW_SHOT = Setting("few-shot", "pubmed-w2v-200d.npy", 400, 5, {"scheme": "bio"}, {})
FULL = Setting(
    "full",
    "glove-6b-100d.npy",
    300,
    5,
    {"scheme": "bioes", "optimiser": {"rate": 2e-3}, "encoder": METANER_ENCODER},
    {"batch": 32, "epochs": 10, "optimiser": {"rate": 3e-2}},
)


def configured(name: str, setting: Setting, more: dict[str, Any] | None = None) -> Any:
    settings = {**setting.learning, **(more or {})}
    adaptation = setting.adaptation
    if method(name).capabilities.reads_sources and setting.table == "full":
        adaptation = {**adaptation, "source_tasks": 1}  # batches are three times as large here
    if name.startswith("metaner") and setting.table == "few-shot":
        # one encoder, one outer optimiser and one tag scheme for all
        settings |= {"encoder": method("hgda")().config.encoder, "optimiser": {"rate": 2e-3}}
    return method(name)(**settings, adaptation=adaptation)


def corpus(place: str) -> Corpus:
    return load_corpus(SHARED / "data" / place)


def sources_for(places: Sequence[str], target: Corpus) -> list[SourceDomain]:
    """Train and dev of each, SciTech whole (ruling), less the sentences of the target's test."""
    found = []
    for given in group_by_domain([corpus(p) for p in places]):
        if given.name == target.domain:
            continue
        (domain,) = source_domains([given], target.split("test"))
        if given.name == "scitech":
            domain = replace(domain, corpora={"scitech": list(given.corpora[0].split("test"))})
        found.append(domain)
    return found


def base_for(
    name: str,
    sources: Sequence[SourceDomain],
    setting: Setting,
    target: Corpus,
    more: dict[str, Any] | None = None,
    seed: int = 0,
) -> tuple[Base, float]:
    """From runs/baselines, or learnt now; and the seconds it took."""
    learner = configured(SAME_BASE.get(name, name), setting, more)
    facts = [learner.name, learner.config.model_dump(mode="json", exclude={"adaptation"})]
    facts += [setting.iterations, setting.vectors, seed]
    facts += [[s.text for s in d.sentences] for d in sources]  # less what a target's test holds
    folder = BASES / f"{learner.name}-{sha256(repr(facts).encode()).hexdigest()[:12]}"
    if (folder / "seconds.json").is_file():
        return Base.load(folder), json.loads((folder / "seconds.json").read_text())
    begun = time.perf_counter()
    said = [begun]

    def progress(done: int, total: int, remark: str = "") -> None:
        if time.perf_counter() - said[0] > 30:
            said[0] = time.perf_counter()
            print(f"  {learner.name} for {target.name}: {done}/{total} {remark}", flush=True)

    run = TrainingRun(folder, "baselines", {}, True, 60.0, progress)
    vectors = read_vectors(SHARED / "vectors" / setting.vectors)
    base = learner.fit(sources, Budget(setting.iterations), vectors=vectors, seed=seed, run=run)
    base.save(folder)
    (folder / "seconds.json").write_text(json.dumps(time.perf_counter() - begun))
    return base, time.perf_counter() - begun


class Rows:
    """The lines of one table's file, and which cells are there."""

    KEY = ("method", "variant", "target", "size", "share", "seed")

    def __init__(self, name: str) -> None:
        self.path = RESULTS / f"{name}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def read(self) -> Iterator[dict[str, Any]]:
        if self.path.exists():
            with open(self.path, encoding="utf-8") as file:
                yield from map(json.loads, file)

    def missing(self, **cell: Any) -> bool:
        return all(any(row[k] != cell.get(k) for k in self.KEY) for row in self.read())

    def add(self, row: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def measure(
    rows: Rows,
    name: str,
    setting: Setting,
    target: Corpus,
    sources: Sequence[SourceDomain],
    *,
    sizes: Sequence[int] = (),
    share: float | None = None,
    variant: str = "",
    more: dict[str, Any] | None = None,
    split: str = "test",
    train: Sequence[Sentence] | None = None,
    base_seeds: Sequence[int] = (0,),
) -> None:
    """All seeds of a method on a target that are not in ``rows`` yet."""
    train = target.split("train") if train is None else train
    test = target.split(split)
    if name in ("d-shift", "metaner-zero"):  # nothing is drawn: only the base can differ
        seeds = list(base_seeds)
    else:
        seeds = list(range(setting.seeds))
    cells = [
        {
            "method": name,
            "variant": variant,
            "target": target.name,
            "size": size,
            "share": share,
            "seed": seed,
        }
        for size in sizes or (None,)
        for seed in seeds
    ]
    for cell in cells:
        if not rows.missing(**cell):
            continue
        base_seed = cell["seed"] if name in ("d-shift", "metaner-zero") else base_seeds[0]
        base, learnt = base_for(name, sources, setting, target, more, base_seed)
        chosen = configured(name, setting, more)
        seed = cell["seed"]
        if share is not None:
            support = draw_share(train, share, seed)
        else:
            support = draw_sentences(train, cell["size"] or len(train), seed)
        given = {"sources": sources} if chosen.capabilities.reads_sources else {}
        if chosen.capabilities.reads_text:
            given["unlabelled"] = [Sentence(s.text, s.token_spans) for s in train]
        begun = time.perf_counter()
        tagger = chosen.adapt(base, support, labels=target.labels, seed=seed, **given)
        seconds = time.perf_counter() - begun
        found = tagger.predict_sentences(test)
        score = score_entities([s.entities for s in test], found).overall
        row = {
            **cell,
            "f1": score.f1,
            "precision": score.precision,
            "recall": score.recall,
            "sentences": len(support),
            "steps": tagger.facts["steps"],
            "seconds": round(seconds, 2),
            "base_seconds": round(learnt, 1),
            "iterations": base.facts["iterations"],
            "unlabelled": len(given.get("unlabelled", ())),
            "rates": [
                chosen.config.adaptation.optimiser.rate,
                chosen.config.adaptation.encoder_scale,
            ],
            "scored": f"{split}, {len(test)} sentences",
            "data": target.sha256,
        }
        rows.add(row)
        print(
            f"{name} {variant} {target.name} {cell['size'] or share or 'all'} seed {seed}: "
            f"F1 {100 * score.f1:.1f} in {seconds:.1f} s",
            flush=True,
        )


def few_shot(options: argparse.Namespace) -> None:
    rows = Rows("few-shot")
    methods = [
        "in-domain",
        "finetuning",
        "multitask",
        "dann",
        "maml",
        "metaner",
        "hgda",
        "hgda-nes",
        "wpz",
    ]
    for place in options.targets or ["ncbi-disease", "bc2gm"]:
        target = corpus(f"bio8/{place}")
        sources = sources_for([f"bio8/{n}" for n in BIO8], target)
        for name in options.methods or methods:
            measure(rows, name, FEW_SHOT, target, sources, sizes=options.sizes or [5, 20, 50])
        # Its one learned number has far to go: rates chosen with Drug playing the target.
        own = replace(FEW_SHOT, adaptation={"optimiser": {"rate": 0.3}, "encoder_scale": 0.03})
        measure(rows, "wpz", own, target, sources, sizes=[5, 20, 50], variant="rates of its own")


def rates(options: argparse.Namespace) -> None:
    """The rate of fine-tuning at full data, with a source playing the target, on its dev split."""
    rows = Rows("rates")
    for place in options.targets or ["general/wnut17", "news/conll03"]:
        target = corpus(place)
        train = target.split("train")[:3400]  # as many as WNUT17 has
        sources = sources_for(HETEROGENEOUS, target)
        for rate in (1e-2, 3e-2, 1e-1):
            tried = replace(
                FULL, seeds=1, adaptation={**FULL.adaptation, "optimiser": {"rate": rate}}
            )
            for name in options.methods or ["in-domain", "finetuning"]:
                measure(
                    rows,
                    name,
                    tried,
                    target,
                    sources,
                    variant=f"rate {rate}",
                    split="dev",
                    train=train,
                )


def homogeneous(options: argparse.Namespace) -> None:
    rows = Rows("homogeneous")
    more = {"decoders": "shared"}
    for place in options.targets or ["general/wikigold", "general/wnut16-conll"]:
        target = corpus(place)
        sources = sources_for(HOMOGENEOUS, target)
        for name in options.methods or ["d-shift", "metaner-zero", "finetuning", "metaner", "agg"]:
            measure(rows, name, FULL, target, sources, more=more, base_seeds=options.base_seeds)


def heterogeneous(options: argparse.Namespace) -> None:
    rows = Rows("heterogeneous")
    for place in options.targets or ["general/re3d", "general/sec", "general/mit-restaurant"]:
        target = corpus(place)
        sources = sources_for(HETEROGENEOUS, target)
        for name in options.methods or ["in-domain", "finetuning", "multitask", "metaner"]:
            measure(rows, name, FULL, target, sources)


ABLATIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "no adversary": {"adversary": False},
    "no meta-learning": {"meta": False},
    "θ(new) only": {"new_only": True},
    "MAML update": {"maml_update": True},
    "no character CNN": {"encoder": {**METANER_ENCODER, "char_cnn_filters": 0}},
    **{f"λ = {weight}": {"aux_weight": weight} for weight in (0.2, 1.0)},
}


def ablation(options: argparse.Namespace) -> None:
    rows = Rows("ablation")
    target = corpus("bio-extra/bionlp13pc")
    sources = sources_for(HETEROGENEOUS, target)
    for variant in options.variants or ABLATIONS:
        more = ABLATIONS[variant]
        measure(rows, "metaner", FULL, target, sources, share=10, variant=variant, more=more)
    if not options.variants:
        for name in ("in-domain", "finetuning"):
            measure(rows, name, FULL, target, sources, share=10, variant="beside")


def report(options: argparse.Namespace) -> None:
    """Markdown tables of what is there: a row a method, a column a target and size."""
    from adaptner.metrics.significance import mean_sd, paired_t_test

    for path in sorted(RESULTS.glob("*.jsonl")):
        cells: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        for row in Rows(path.stem).read():
            size = row["size"] or (f"{row['share']:g} %" if row["share"] else "all")
            name = f"{row['method']}, {row['variant']}" if row["variant"] else row["method"]
            cells.setdefault((name, f"{row['target']} {size}"), {})[row["seed"]] = row
        names = list(dict.fromkeys(name for name, _ in cells))
        columns = list(dict.fromkeys(column for _, column in cells))
        print(f"\n## {path.stem}\n\n| | {' | '.join(columns)} |")
        print("|---" * (len(columns) + 1) + "|")
        for name in names:
            shown = []
            for column in columns:
                found = cells.get((name, column), {})
                mean, sd = mean_sd([100 * r["f1"] for r in found.values()] or [math.nan])
                shown.append(f"{mean:.1f} ± {sd:.1f} ({len(found)})" if found else "–")
            print(f"| {name} | {' | '.join(shown)} |")
        print("\ncost of adapting (steps, mean seconds), of the base (seconds):")
        for (name, column), found in cells.items():
            rows = list(found.values())
            seconds = mean_sd([r["seconds"] for r in rows])[0]
            print(
                f"  {name}, {column}: {rows[0]['steps']}, {seconds:.1f}; {rows[0]['base_seconds']}"
            )
        print("\npaired t-tests, difference of the first over the second in points:")
        for column in columns:
            for first, second in combinations(names, 2):
                one, two = cells.get((first, column), {}), cells.get((second, column), {})
                seeds = sorted(set(one) & set(two))
                if len(seeds) < 3:
                    continue
                left, right = ([100 * side[s]["f1"] for s in seeds] for side in (one, two))
                gain = mean_sd([x - y for x, y in zip(left, right, strict=True)])[0]
                p = paired_t_test(left, right).p_value
                if p < 0.1:
                    print(f"  {column}: {first} - {second}: {gain:+.1f}, p = {p:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = {
        f.__name__.replace("_", "-"): f
        for f in (few_shot, rates, homogeneous, heterogeneous, ablation, report)
    }
    parser.add_argument("table", choices=verbs)
    parser.add_argument("--targets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--variants", nargs="+")
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--base-seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seeds", type=int, default=5, help="draws or seeds a cell")
    options = parser.parse_args()
    prepare_process()
    global FEW_SHOT, FULL
    FEW_SHOT, FULL = (replace(s, seeds=options.seeds) for s in (FEW_SHOT, FULL))
    verbs[options.table](options)


if __name__ == "__main__":
    main()
