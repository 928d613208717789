"""Compares the baselines on real corpora: the tables of docs/results/baselines.md.

    .venv/bin/python benchmarks/baselines.py few-shot --targets ncbi-disease bc2gm
    .venv/bin/python benchmarks/baselines.py rates
    .venv/bin/python benchmarks/baselines.py homogeneous
    .venv/bin/python benchmarks/baselines.py heterogeneous
    .venv/bin/python benchmarks/baselines.py ablation
    .venv/bin/python benchmarks/baselines.py report

Every run (method, variant, target, size, seed) is a line of docs/results/baselines/TABLE.jsonl, and
finished runs are skipped. Bases are kept in runs/baselines. Two processes may fill the same table if
their targets differ. ``report`` prints all tables in Markdown: mean F1 ± standard deviation (number of
seeds), costs, and paired t-tests.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations
from typing import Any

from common import RESULTS, ROOT, ResultFile, score_tagger, shared_corpus, shared_vectors

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import Corpus, group_by_domain
from adaptner.corpora.sources import SourceDomain, source_domains
from adaptner.episodes import draw_sentences, draw_share
from adaptner.methods import method
from adaptner.methods.metaner import ENCODER
from adaptner.metrics.significance import mean_sd, paired_t_test
from adaptner.models.base import Base
from adaptner.training.budget import Budget
from adaptner.training.loop import TrainingRun
from adaptner.types import Sentence

BASES = ROOT / "runs/baselines"
KEY = ("method", "variant", "target", "size", "share", "seed")
BIO8 = (
    *("ncbi-disease", "bc5cdr-disease", "bc5cdr-chem", "bc4chemd-sub"),
    *("jnlpba", "bc2gm", "linnaeus", "s800"),
)
HOMOGENEOUS = (
    *("news/conll03", "news/scitech", "general/wikigold"),
    *("general/sec", "general/wnut16-conll", "general/webpage"),
)
HETEROGENEOUS = ("news/conll03", "general/wnut17", "general/wikigold")
# These methods train on the sources like FineTuning, so they share its base.
SAME_BASE = dict.fromkeys(("agg", "multitask", "dann", "d-shift"), "finetuning")
UNADAPTED = ("d-shift", "metaner-zero")  # use no target sentences: seeds are those of the base
METANER_ENCODER = {**ENCODER.model_dump(mode="json"), "word_width": 100}
ABLATIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "no adversary": {"adversary": False},
    "no meta-learning": {"meta": False},
    "θ(new) only": {"new_only": True},
    "MAML update": {"maml_update": True},
    "no character CNN": {"encoder": {**METANER_ENCODER, "char_cnn_filters": 0}},
    **{f"λ = {weight}": {"aux_weight": weight} for weight in (0.2, 1.0)},
}


@dataclass(frozen=True)
class Setting:
    """What all methods of a table have in common."""

    table: str
    vectors: str
    iterations: int
    seeds: int
    settings: dict[str, Any]
    adaptation: dict[str, Any]

    def make_method(self, name: str, changes: dict[str, Any]) -> Any:
        settings, adaptation = {**self.settings, **changes}, self.adaptation
        if method(name).capabilities.reads_sources and self.table == "full":
            adaptation = {**adaptation, "source_tasks": 1}  # batches are three times as large here
        if name.startswith("metaner") and self.table == "few-shot":
            # The same encoder, outer optimiser and tag scheme as the other methods.
            settings |= {"encoder": method("hgda")().config.encoder, "optimiser": {"rate": 2e-3}}
        return method(name)(**settings, adaptation=adaptation)


FEW_SHOT = Setting("few-shot", "pubmed-w2v-200d.npy", 400, 5, {"scheme": "bio"}, {})
FULL = Setting(
    "full",
    "glove-6b-100d.npy",
    300,
    5,
    {"scheme": "bioes", "optimiser": {"rate": 2e-3}, "encoder": METANER_ENCODER},
    {"batch": 32, "epochs": 10, "optimiser": {"rate": 3e-2}},
)


def sources_for(names: Sequence[str], target: Corpus) -> list[SourceDomain]:
    """Returns the train and dev splits of other domains without the target's test sentences.

    SciTech, which has a test split only, is used as a whole.
    """
    sources = []
    for group in group_by_domain([shared_corpus(name) for name in names]):
        if group.name == target.domain:
            continue
        (domain,) = source_domains([group], target.split("test"))
        if group.name == "scitech":
            domain = replace(domain, corpora={"scitech": list(group.corpora[0].split("test"))})
        sources.append(domain)
    return sources


@dataclass(frozen=True)
class Experiment:
    """The runs of methods on one target."""

    results: ResultFile
    setting: Setting
    target: Corpus
    sources: Sequence[SourceDomain]
    train: Sequence[Sentence]
    sizes: Sequence[int | None] = (None,)
    share: float | None = None
    split: str = "test"
    base_seeds: Sequence[int] = (0,)

    def run(self, name: str, variant: str = "", changes: dict[str, Any] | None = None) -> None:
        """Runs all sizes and seeds of a method that have no result yet."""
        seeds = self.base_seeds if name in UNADAPTED else range(self.setting.seeds)
        for size in self.sizes:
            for seed in seeds:
                run = {"method": name, "variant": variant, "target": self.target.name}
                run |= {"size": size, "share": self.share, "seed": seed}
                if run in self.results:
                    continue
                row = {**run, **self._adapt(name, size, seed, changes or {})}
                self.results.add(row)
                print(
                    f"{name} {variant} {self.target.name} {size or self.share or 'all'} seed {seed}: "
                    f"F1 {100 * row['f1']:.1f} in {row['seconds']:.1f} s",
                    flush=True,
                )

    def _adapt(
        self, name: str, size: int | None, seed: int, changes: dict[str, Any]
    ) -> dict[str, Any]:
        base_seed = seed if name in UNADAPTED else self.base_seeds[0]
        base, base_seconds = self._base(name, changes, base_seed)
        learner = self.setting.make_method(name, changes)
        if self.share is not None:
            support = draw_share(self.train, self.share, seed)
        else:
            support = draw_sentences(self.train, size or len(self.train), seed)
        data: dict[str, Any] = {}
        if learner.capabilities.reads_sources:
            data["sources"] = self.sources
        if learner.capabilities.reads_text:
            data["unlabelled"] = [Sentence(s.text, s.token_spans) for s in self.train]
        start = time.perf_counter()
        tagger = learner.adapt(base, support, labels=self.target.labels, seed=seed, **data)
        seconds = time.perf_counter() - start
        test = self.target.split(self.split)
        score = score_tagger(tagger, test)
        adaptation = learner.config.adaptation
        return {
            "f1": score.f1,
            "precision": score.precision,
            "recall": score.recall,
            "sentences": len(support),
            "steps": tagger.facts["steps"],
            "seconds": round(seconds, 2),
            "base_seconds": round(base_seconds, 1),
            "iterations": base.facts["iterations"],
            "unlabelled": len(data.get("unlabelled", ())),
            "rates": [adaptation.optimiser.rate, adaptation.encoder_scale],
            "scored": f"{self.split}, {len(test)} sentences",
            "data": self.target.sha256,
        }

    def _base(self, name: str, changes: dict[str, Any], seed: int) -> tuple[Base, float]:
        """Returns the base, from runs/baselines if it is there, and the seconds of its training."""
        learner = self.setting.make_method(SAME_BASE.get(name, name), changes)
        facts = [learner.name, learner.config.model_dump(mode="json", exclude={"adaptation"})]
        facts += [self.setting.iterations, self.setting.vectors, seed]
        facts += [[s.text for s in d.sentences] for d in self.sources]
        folder = BASES / f"{learner.name}-{sha256(repr(facts).encode()).hexdigest()[:12]}"
        if (folder / "seconds.json").is_file():
            return Base.load(folder), json.loads((folder / "seconds.json").read_text())
        start = last_print = time.perf_counter()

        def progress(done: int, total: int, remark: str = "") -> None:
            nonlocal last_print
            if time.perf_counter() - last_print > 30:
                last_print = time.perf_counter()
                print(
                    f"  {learner.name} for {self.target.name}: {done}/{total} {remark}", flush=True
                )

        run = TrainingRun(folder, "baselines", {}, True, 60.0, progress)
        budget, vectors = Budget(self.setting.iterations), shared_vectors(self.setting.vectors)
        base = learner.fit(self.sources, budget, vectors=vectors, seed=seed, run=run)
        base.save(folder)
        seconds = time.perf_counter() - start
        (folder / "seconds.json").write_text(json.dumps(seconds))
        return base, seconds


def experiment(
    table: str, setting: Setting, target: Corpus, sources: Sequence[str], **fields: Any
) -> Experiment:
    results = ResultFile(RESULTS / "baselines" / f"{table}.jsonl", KEY)
    domains = sources_for(sources, target)
    return Experiment(results, setting, target, domains, target.split("train"), **fields)


def few_shot(options: argparse.Namespace) -> None:
    methods = ["in-domain", "finetuning", "multitask", "dann", "maml", "metaner", "hgda"]
    methods += ["hgda-nes", "wpz"]
    sources = [f"bio8/{name}" for name in BIO8]
    setting = replace(FEW_SHOT, seeds=options.seeds)
    for name in options.targets or ["ncbi-disease", "bc2gm"]:
        target, sizes = shared_corpus(f"bio8/{name}"), options.sizes or [5, 20, 50]
        runs = experiment("few-shot", setting, target, sources, sizes=sizes)
        for method_name in options.methods or methods:
            runs.run(method_name)
        # Rates for the one number that WPZ trains, chosen with Drug as the target.
        rates = {"optimiser": {"rate": 0.3}, "encoder_scale": 0.03}
        wpz = replace(runs, setting=replace(setting, adaptation=rates), sizes=[5, 20, 50])
        wpz.run("wpz", variant="rates of its own")


def rates(options: argparse.Namespace) -> None:
    """Compares rates of fine-tuning on full data, with a source as target and on its dev split."""
    for name in options.targets or ["general/wnut17", "news/conll03"]:
        runs = experiment("rates", FULL, shared_corpus(name), HETEROGENEOUS, split="dev")
        for rate in (1e-2, 3e-2, 1e-1):
            adaptation = {**FULL.adaptation, "optimiser": {"rate": rate}}
            setting = replace(FULL, seeds=1, adaptation=adaptation)
            # As many sentences as WNUT17 has.
            tried = replace(runs, setting=setting, train=runs.train[:3400])
            for method_name in options.methods or ["in-domain", "finetuning"]:
                tried.run(method_name, variant=f"rate {rate}")


def homogeneous(options: argparse.Namespace) -> None:
    setting = replace(FULL, seeds=options.seeds)
    for name in options.targets or ["general/wikigold", "general/wnut16-conll"]:
        target, seeds = shared_corpus(name), options.base_seeds
        runs = experiment("homogeneous", setting, target, HOMOGENEOUS, base_seeds=seeds)
        methods = ["d-shift", "metaner-zero", "finetuning", "metaner", "agg"]
        for method_name in options.methods or methods:
            runs.run(method_name, changes={"decoders": "shared"})


def heterogeneous(options: argparse.Namespace) -> None:
    setting = replace(FULL, seeds=options.seeds)
    for name in options.targets or ["general/re3d", "general/sec", "general/mit-restaurant"]:
        runs = experiment("heterogeneous", setting, shared_corpus(name), HETEROGENEOUS)
        for method_name in options.methods or ["in-domain", "finetuning", "multitask", "metaner"]:
            runs.run(method_name)


def ablation(options: argparse.Namespace) -> None:
    target, setting = shared_corpus("bio-extra/bionlp13pc"), replace(FULL, seeds=options.seeds)
    runs = experiment("ablation", setting, target, HETEROGENEOUS, share=10)
    for variant in options.variants or ABLATIONS:
        runs.run("metaner", variant, ABLATIONS[variant])
    if not options.variants:
        for name in ("in-domain", "finetuning"):
            runs.run(name, "beside")  # for comparison; the name is in the committed results


def report(options: argparse.Namespace) -> None:
    """Prints the results as Markdown, with a row per method and a column per target and size."""
    for path in sorted((RESULTS / "baselines").glob("*.jsonl")):
        cells: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        for row in ResultFile(path, KEY).rows:
            size = row["size"] or (f"{row['share']:g} %" if row["share"] else "all")
            name = f"{row['method']}, {row['variant']}" if row["variant"] else row["method"]
            cells.setdefault((name, f"{row['target']} {size}"), {})[row["seed"]] = row
        names = list(dict.fromkeys(name for name, _ in cells))
        columns = list(dict.fromkeys(column for _, column in cells))
        print(f"\n## {path.stem}\n\n| | {' | '.join(columns)} |")
        print("|---" * (len(columns) + 1) + "|")
        for name in names:
            scores = [f1_scores(cells.get((name, column), {})) for column in columns]
            print(f"| {name} | {' | '.join(map(describe, scores))} |")
        print("\nadaptation (steps, mean seconds) and base (seconds):")
        for (name, column), runs in cells.items():
            rows = list(runs.values())
            seconds = mean_sd([r["seconds"] for r in rows])[0]
            cost = f"{rows[0]['steps']}, {seconds:.1f}; {rows[0]['base_seconds']}"
            print(f"  {name}, {column}: {cost}")
        print("\npaired t-tests with p < 0.1, differences in points of F1:")
        for column in columns:
            for first, second in combinations(names, 2):
                pair = [f1_scores(cells.get((name, column), {})) for name in (first, second)]
                compare(f"{column}: {first} - {second}", *pair)


def f1_scores(runs: dict[int, dict[str, Any]]) -> dict[int, float]:
    return {seed: 100 * row["f1"] for seed, row in runs.items()}


def describe(scores: dict[int, float]) -> str:
    mean, sd = mean_sd(list(scores.values()) or [math.nan])
    return f"{mean:.1f} ± {sd:.1f} ({len(scores)})" if scores else "–"


def compare(title: str, first: dict[int, float], second: dict[int, float]) -> None:
    seeds = sorted(first.keys() & second.keys())
    if len(seeds) < 3:
        return
    left, right = [first[s] for s in seeds], [second[s] for s in seeds]
    gain = mean_sd([x - y for x, y in zip(left, right, strict=True)])[0]
    p = paired_t_test(left, right).p_value
    if p < 0.1:
        print(f"  {title}: {gain:+.1f}, p = {p:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    tables = (few_shot, rates, homogeneous, heterogeneous, ablation, report)
    verbs = {f.__name__.replace("_", "-"): f for f in tables}
    parser.add_argument("table", choices=verbs)
    parser.add_argument("--targets", nargs="+")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--variants", nargs="+")
    parser.add_argument("--sizes", nargs="+", type=int)
    parser.add_argument("--base-seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--seeds", type=int, default=5, help="draws or seeds per method and size")
    options = parser.parse_args()
    prepare_process()
    verbs[options.table](options)


if __name__ == "__main__":
    main()
