"""Strict F1 of the dictionary alone, without any labelled sentence.

.venv/bin/python benchmarks/dictionary.py TERMS --split dev --corpora ncbi-disease:Disease --errors 30
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np

from adaptner.corpora.corpus import load_corpus
from adaptner.metrics.spans import tag_spans
from adaptner.terms.compiled import CompiledTerms
from adaptner.terms.dictionary import Dictionary, without_overlaps
from adaptner.terms.doubts import Doubt
from adaptner.terms.label_kinds import kinds_of_label

DATA = Path(__file__).resolve().parents[2] / "shared"
if not DATA.exists():
    DATA = Path("/work/shared")
BIO8 = {
    "bio8/ncbi-disease": ("Disease", None),
    "bio8/bc5cdr-disease": ("Disease", None),
    "bio8/bc5cdr-chem": ("Chemical", None),
    "bio8/bc4chemd-sub": ("Chemical", None),
    "bio8/bc2gm": ("Gene", None),
    "bio8/jnlpba": ("Gene", None),
    "bio8/linnaeus": ("Species", None),
    "bio8/s800": ("Species", None),
}
# The 26 pairs of corpus and kind on which no rule may be chosen by test splits: corpus, kind, its labels.
PAIRS = {
    **{f"bio-extra/{c}": ("Gene", None) for c in ("bionlp09", "bionlp11epi", "bionlp13ge")},
    "bio-extra/bionlp13pc Gene": ("Gene", {"Gene_or_gene_product"}),
    "bio-extra/bionlp13cg Gene": ("Gene", {"Gene_or_gene_product"}),
    "bio-extra/biored Gene": ("Gene", {"Gene"}),
    "bio-extra/hunflair-chebi-gene": ("Gene", None),
    "bio-extra/hunflair-bioinfer-gene": ("Gene", None),
    "bio-extra/hunflair-cellfinder-gene": ("Gene", None),
    "bio-extra/hunflair-osiris-gene": ("Gene", None),
    "bio-extra/nlm-gene": ("Gene", {"Gene"}),
    "kinds/tmvar3 Gene": ("Gene", {"Gene"}),
    "kinds/variome Gene": ("Gene", {"gene"}),
    "bio-extra/bionlp13pc Drug": ("Chemical", {"Simple_chemical"}),
    "bio-extra/bionlp13cg Drug": ("Chemical", {"Simple_chemical"}),
    "bio-extra/biored Drug": ("Chemical", {"Drug"}),
    "bio-extra/hunflair-chebi-drug": ("Chemical", None),
    "kinds/ddi Drug": ("Chemical", None),
    "bio-extra/biored Disease": ("Disease", {"Disease"}),
    "kinds/tmvar3 Disease": ("Disease", {"Disease"}),
    "kinds/variome Disease": ("Disease", {"disease"}),
    "bio-extra/bionlp13cg Species": ("Species", {"Organism"}),
    "bio-extra/biored Species": ("Species", {"Species"}),
    "bio-extra/hunflair-chebi-species": ("Species", None),
    "bio-extra/hunflair-cellfinder-species": ("Species", None),
    "kinds/tmvar3 Species": ("Species", {"Species"}),
}
# Every type of these corpora, through the kinds that its name means.
KINDS = [
    *(f"bio-extra/{c}" for c in ("bionlp13cg", "bionlp13pc", "nlm-gene", "biored")),
    *(f"kinds/{path.name}" for path in sorted((DATA / "kinds").glob("*/"))),
]
FEWEST_MENTIONS = 20  # of a type in the sentences read
BATCH = 200


def corpus_folder(name: str) -> Path:
    path = name.partition(" ")[0]
    return DATA / path if path.startswith("kinds") else DATA / "data" / path


def evaluate(dictionary, name, kind, labels, split, errors=0, limit=None, accepted=None, window=0):
    sentences = load_corpus(corpus_folder(name)).split(split)[:limit]
    right = missed = wrong = tokens = 0
    examples: Counter = Counter()
    seconds = 0.0
    for at in range(0, len(sentences), BATCH):
        part = sentences[at : at + BATCH]
        begin = time.process_time()
        matches = dictionary.matches([s.tokens for s in part])
        documents = [(at + i) // window for i in range(len(part))] if window else None
        spans = dictionary.mentions(matches, kind, accepted, documents)
        seconds += time.process_time() - begin
        found = set(zip(spans.start.tolist(), spans.end.tolist(), strict=True))
        gold = set()
        for sentence, start in zip(part, matches.text.starts.tolist(), strict=True):
            tokens += len(sentence)
            begun = None
            for place, tag in enumerate((*sentence.tags, "O")):
                if tag[0] != "I" and begun is not None:
                    gold.add((start + begun, start + place))
                    begun = None
                if tag[0] == "B" and (labels is None or tag[2:] in labels):
                    begun = place
        right += len(found & gold)
        wrong += len(found - gold)
        missed += len(gold - found)
        if errors:
            words = matches.text.words
            places = zip(spans.start.tolist(), spans.end.tolist(), strict=True)
            doubts = dict(zip(places, spans.doubts.tolist(), strict=True))
            proposed = dictionary.propose(matches, [kind])[kind]
            places = zip(proposed.start.tolist(), proposed.end.tolist(), strict=True)
            rejected = dict(zip(places, proposed.doubts.tolist(), strict=True))
            for kind_of, which in (("FP", found - gold), ("FN", gold - found)):
                other = gold if kind_of == "FP" else found
                for a, b in which:
                    near = [" ".join(words[c:d]) for c, d in other if c < b and a < d]
                    note = f"  [gold: {near[0]}]" if near and kind_of == "FP" else ""
                    note = f"  [found: {near[0]}]" if near and kind_of == "FN" else note
                    why = doubts.get((a, b)) if kind_of == "FP" else rejected.get((a, b))
                    if why:
                        note += f"  <{Doubt(why)!s}>"
                    elif kind_of == "FN" and (a, b) not in rejected:
                        note += "  <not proposed>"
                    examples[f"{kind_of} {' '.join(words[a:b])}{note}"] += 1
    total = 2 * right + wrong + missed
    print(
        f"{name:40} {kind:9} P {100 * right / max(1, right + wrong):5.1f} R {100 * right / max(1, right + missed):5.1f} "
        f"F1 {200 * right / max(1, total):5.1f}   {right} right {wrong} wrong {missed} missed   {tokens / max(seconds, 1e-9):,.0f} tokens/s",
        flush=True,
    )
    for example, count in examples.most_common(errors):
        print(f"    {count:4} {example}")
    return 200 * right / max(1, total)


def evaluate_labels(
    dictionary: Dictionary, corpus: str, split: str, limit: int | None
) -> dict[str, tuple[tuple[str, ...], float, int]]:
    """For each type of a corpus the kinds that its name means, the F1 of their names (each type alone), and
    how many mentions it has."""
    sentences = load_corpus(corpus_folder(corpus)).split(split)[:limit]
    gold: dict[str, set[tuple[int, int, int]]] = {}
    for number, sentence in enumerate(sentences):
        for start, end, label in tag_spans(sentence.tags):
            gold.setdefault(label, set()).add((number, start, end))
    gold = {label: spans for label, spans in gold.items() if len(spans) >= FEWEST_MENTIONS}
    kinds = {label: kinds_of_label(dictionary.terms, label) for label in gold}
    found: dict[str, set[tuple[int, int, int]]] = {label: set() for label, k in kinds.items() if k}
    for at in range(0, len(sentences) if found else 0, BATCH):
        matches = dictionary.matches([s.tokens for s in sentences[at : at + BATCH]])
        starts = matches.text.starts
        every = sorted({kind for label in found for kind in kinds[label]})
        of_kind = dictionary.propose(matches, every)
        for label, spans in found.items():
            chosen = [dictionary.acceptable(of_kind[kind], kind) for kind in kinds[label]]
            together = sum(chosen[1:], chosen[0])
            together = together.select(without_overlaps(together))
            owner = np.searchsorted(starts, together.start, side="right") - 1
            first = together.start - starts[owner]
            last = together.end - starts[owner]
            spans.update(zip((owner + at).tolist(), first.tolist(), last.tolist(), strict=True))
    return {
        label: (
            kinds[label],
            200 * len(spans & found.get(label, set())) / (len(spans) + len(found.get(label, ()))),
            len(spans),
        )
        for label, spans in gold.items()
    }


def print_labels(dictionary: Dictionary, only: list[str], split: str, limit: int | None) -> None:
    scores = []
    for corpus in KINDS:
        if only and not any(part in corpus for part in only):
            continue
        table = evaluate_labels(dictionary, corpus, split, limit)
        for label, (kinds, score, mentions) in sorted(table.items(), key=lambda x: -x[1][2]):
            if kinds:
                scores.append(score)
            shown = f"{score:5.1f}" if kinds else "    -"
            print(f"{corpus:28} {label:32} {mentions:6} {shown}  {', '.join(kinds)}", flush=True)
    print(f"mean of {len(scores)}: {sum(scores) / max(1, len(scores)):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("terms", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--set", choices=["bio8", "pairs", "kinds"], default="bio8")
    parser.add_argument("--kinds", nargs="*")
    parser.add_argument("--only", nargs="*", help="parts of corpus names")
    parser.add_argument("--errors", type=int, default=0)
    parser.add_argument("--limit", type=int)
    parser.add_argument(
        "--document", type=int, default=0, help="sentences of a document; 0: each alone"
    )
    options = parser.parse_args()
    dictionary = Dictionary(CompiledTerms.load(options.terms))
    if options.set == "kinds":
        print_labels(dictionary, options.only or [], options.split, options.limit)
        return
    scores = {}
    for name, (kind, labels) in (BIO8 if options.set == "bio8" else PAIRS).items():
        if options.kinds and kind not in options.kinds:
            continue
        if options.only and not any(part in name for part in options.only):
            continue
        scores[name] = evaluate(
            dictionary,
            name,
            kind,
            labels,
            options.split,
            options.errors,
            options.limit,
            None,
            options.document,
        )
    print(f"mean of {len(scores)}: {sum(scores.values()) / len(scores):.1f}")


if __name__ == "__main__":
    main()
