"""How far scores and estimates can be trusted: calibration and coverage over the eight corpora.

    .venv/bin/python benchmarks/trust.py -o docs/results/trust.jsonl

Every draw is adapted to and estimated as `adaptner adapt` does it, and tags test sentences; a row
holds counts alone, and all figures are computed from rows, afterwards. Constants are fitted on the
rows of the other domains when a corpus is measured (leave one domain out). Rows that are in the file
already are not run again; `--fit BASE` fits the constants on all rows and puts them in that base.

What a base's sources have taught has constants of its own; here a corpus that it has not learnt from is left out:

    .venv/bin/python benchmarks/trust.py --known --limit 500 --draws 4 -o docs/results/trust-known.jsonl
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from adaptner.compute import prepare_process
from adaptner.corpora.corpus import load_corpus
from adaptner.episodes import draw_sentences
from adaptner.evaluation.calibration.fit import Observation, fit_calibration, observe
from adaptner.evaluation.calibration.report import (
    CalibrationCheck,
    calibration_error,
    check_calibration,
    pooled,
    report,
)
from adaptner.methods.configuration import method_for_base
from adaptner.models.installed import DEFAULT, base_folder, load_base
from adaptner.reproduce.report.chart import Axis, Chart, Point, Series, Style, series_style

SHARED = Path(__file__).resolve().parents[2] / "shared"
# Of one type each, which the base has learnt from other corpora
KNOWN = [
    *("bionlp11epi", "bionlp13ge", "hunflair-bioinfer-gene", "hunflair-cellfinder-gene"),
    *("hunflair-cellfinder-species", "hunflair-chebi-drug", "hunflair-chebi-gene"),
    *("hunflair-chebi-species", "hunflair-osiris-gene"),
]
SECONDS = {5: 1.2, 10: 1.8, 20: 3.0, 50: 5.0}  # a draw with 1,000 test sentences, on a quiet core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--base", default=DEFAULT)
    parser.add_argument("--corpora", nargs="*")
    parser.add_argument("--sizes", type=int, nargs="*", default=[5, 10, 20, 50])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--limit", type=int, help="test sentences at most")
    parser.add_argument("--known", action="store_true", help="other corpora, types of the sources")
    parser.add_argument("--fit", metavar="BASE", help="put constants of all rows in this base")
    parser.add_argument("--plot", type=Path, help="reliability diagram (SVG)")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    prepare_process()
    options.output.touch()
    rows = [Observation.model_validate_json(x) for x in options.output.read_text().splitlines()]
    done = {(r.corpus, r.size, r.seed) for r in rows}
    group = SHARED / "data" / ("bio-extra" if options.known else "bio8")
    folders = [f for f in sorted(group.iterdir()) if f.is_dir()]
    only = options.corpora or (KNOWN if options.known else [f.name for f in folders])
    chosen = [f for f in folders if f.name in only]
    # one draw of every corpus before the next of any: an interrupted pass is even
    wanted = [
        (folder, size, seed)
        for seed in range(options.draws)
        for folder in chosen
        for size in options.sizes
        if (folder.name, size, seed) not in done
    ]
    about = sum(SECONDS.get(size, size / 10) for _, size, _ in wanted)
    print(f"{len(wanted)} draws to run, about {about / 60:.0f} minutes on a quiet core", flush=True)
    base = load_base(options.base) if wanted else None
    corpora = {}
    begun = time.perf_counter()
    for number, (folder, size, seed) in enumerate(wanted, 1):
        assert base is not None
        if folder not in corpora:
            corpora[folder] = load_corpus(folder)
        target = corpora[folder]
        test = [s for s in target.split("test") if len(s)][: options.limit]
        never = base
        if not options.known:
            never = base.of_domains(d for d in base.model.domains if d != target.domain)
        support = draw_sentences(target.split("train"), size, seed)
        row = observe(method_for_base(None, never), never, target, support, test, seed)
        if options.known:  # left out in turn is what was marked by other people
            row = row.model_copy(update={"domain": row.corpus})
        rows.append(row)
        with open(options.output, "a", encoding="utf-8") as file:
            file.write(row.model_dump_json() + "\n")
        if number % 16 == 0:
            left = (time.perf_counter() - begun) / number * (len(wanted) - number)
            print(f"{number} of {len(wanted)}, {left / 60:.0f} minutes left", flush=True)
    rows = [r for r in rows if r.size in options.sizes and r.seed < options.draws]
    draws = check_calibration(rows)
    print(report(draws))
    if options.plot:
        options.plot.write_text(reliability_diagram(draws), encoding="utf-8")
    if options.fit:
        fit_calibration(rows).save(base_folder(options.fit), known=options.known)
        print(f"constants of {len(rows)} rows -> {base_folder(options.fit)}")


def reliability_diagram(draws: list[CalibrationCheck]) -> str:
    """Returns the share of correct mentions against their score, raw and calibrated, as SVG."""
    series = [Series("ideal", Style("#555555", (0, (2, 3)), "none"), [Point(0, 0), Point(1, 1)])]
    kinds = ("calibrated", [d.bins for d in draws]), ("raw", [d.raw_bins for d in draws])
    for number, (name, bins) in enumerate(kinds):
        total = pooled(bins)
        points = [Point(b.promised / b.found, b.right / b.found) for b in total if b.found >= 20]
        label = f"{name}: error {calibration_error(total):.3f}"
        series.append(Series(label, series_style(number), points))
    ticks = (0, 0.2, 0.4, 0.6, 0.8, 1)
    score, correct = Axis("score", 0, 1, ticks), Axis("share that is correct", 0, 1, ticks)
    title = "Share of correct mentions by score"
    return Chart(title, score, correct, series, bands=True).svg()


if __name__ == "__main__":
    main()
