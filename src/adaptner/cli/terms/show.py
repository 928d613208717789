"""``adaptner terms show``: what terminologies know about a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from adaptner.cli import options
from adaptner.cli.common import emit_json, out
from adaptner.cli.terms.loading import TermsFile, load_terms

if TYPE_CHECKING:
    from adaptner.terms.description import NameDescription


def show(
    name: Annotated[str, options.argument("NAME", "A name, as it is written in text.")],
    terms: TermsFile = None,
    json: options.JsonFlag = False,
) -> None:
    """Show what a name is known as, from where, and whether it is used.

    Lists kinds, concepts with the files they come from, how often raw text has the name, and for
    each kind whether the name alone is taken as a mention, or which doubts keep it out.

    Example: adaptner terms show TNF
    """
    from dataclasses import asdict

    from adaptner.errors import NotAName
    from adaptner.terms.description import describe
    from adaptner.terms.dictionary import Dictionary

    compiled = load_terms(terms)
    found = describe(Dictionary(compiled), name)
    if found is None:
        raise NotAName(name=name)
    if json:
        emit_json({"name": name, **asdict(found)})
    else:
        out.print("\n".join(_lines(found)))


def _lines(found: NameDescription) -> list[str]:
    lines = []
    for kind in dict.fromkeys((*found.kinds, *found.doubts)):
        listed = "" if kind in found.kinds else " (by a pattern, in no list)"
        doubts = found.doubts.get(kind)
        if doubts is None:
            verdict = "not used: the rules propose no mention here"
        elif doubts:
            verdict = f"not used: {', '.join(d.lower().replace('_', ' ') for d in doubts)}"
        else:
            verdict = "used"
        lines.append(f"{kind}{listed}: {verdict}")
    lines += [f"  {id}  {source}" for id, source in found.concepts]
    for text in ("field", "general"):
        counts = [
            f"{found.counts[f'{text}_{key}']:,} {words}"
            for key, words in (
                ("alone", "alone"),
                ("inside", "within longer names"),
                ("lower", "with a small letter"),
                ("capitalised", "with a capital, not first in the sentence"),
            )
        ]
        lines.append(f"in {text} text: {', '.join(counts)}")
    return lines
