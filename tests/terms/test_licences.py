"""Tests of the facts about the terminologies: what ships may ship, and gives credit."""

from __future__ import annotations

from adaptner.terms.licences import (
    attribution_text,
    licences,
    shipped_sources,
    terminology_sources,
)

# Those of issue 31: no other licence may be declared shippable without a change here.
_MAY_SHIP = {
    "CC0-1.0",
    "public-domain",
    "US-government-work",
    "CC-BY-3.0",
    "CC-BY-4.0",
    "Apache-2.0",
    "MIT",
    "BSD-2-Clause",
    "OGL-3.0",
}


def test_only_permissive_licences_may_ship():
    assert {known.id for known in licences().values() if known.ships} == _MAY_SHIP


def test_what_ships_has_only_licences_that_may_ship_and_an_attribution():
    for source in terminology_sources().values():
        assert source.licences, source.name
        allowed = all(licences()[licence].ships for licence in source.licences)
        if source.ships:
            assert allowed, source.name
            assert source.attribution, source.name
            assert source.source, source.name
        else:
            assert source.note, f"{source.name}: nothing says why it does not ship"


def test_known_exceptions_do_not_ship():
    kept = {s.name for s in terminology_sources().values() if not s.ships and s.base != "general"}
    assert kept == {"hpo", "icd10cm", "icd9-procedures", "bao", "worm-genes"}


def test_drugs_ship_only_where_open_terminologies_confirm_them():
    sources = terminology_sources()
    confirming = sources["drugs"].only_confirmed_by
    assert confirming == ("mesh", "mesh-supplementary", "drugbank-names", "chebi")
    assert all(sources[name].ships for name in confirming)
    assert [s.name for s in sources.values() if s.only_confirmed_by] == ["drugs"]


def test_every_shared_terminology_has_an_entry(shared_data):
    files = {path.name.removesuffix(".tsv.xz") for path in shared_data.glob("terms/*.tsv.xz")}
    assert files == set(terminology_sources())


def test_shared_readme_cites_every_source(shared_data):
    readme = (shared_data / "terms" / "README.md").read_text(encoding="utf-8")
    table = readme.partition("Sources and licences.")[2]
    for source in terminology_sources().values():
        if source.base == "general" or source.name == "mesh-supplementary":
            continue
        row = next(line for line in table.splitlines() if line.startswith(f"| `{source.name}` |"))
        for cited in source.source:
            assert cited.split()[0] in row, source.name


def test_attribution_text_credits_every_source_and_explains_every_licence():
    sources = shipped_sources("biomedical")
    assert len(sources) == 42
    text = attribution_text(sources)
    for source in sources:
        assert f"{source.name}: {source.title}" in text
        assert source.attribution in text
        for licence in source.licences:
            assert f"\n{licence}: {licences()[licence].title}" in text
    assert "CC-BY-SA-4.0" not in text
