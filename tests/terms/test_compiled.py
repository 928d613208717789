from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from terms_kit import compiled, compiled_kinds, entries_of, kind

from adaptner.errors import TermsUnreadable
from adaptner.terms import array_file, matching
from adaptner.terms.compiled import CompiledTerms, packed, packed_ids, unpacked
from adaptner.terms.matching import NameFinder


@pytest.fixture
def terms():
    return compiled_kinds(Disease=["asthma", "brain fever", "AIDS"], Gene=["TNF", "p53", "insulin"])


def random_keys(size, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 64, size, dtype=np.uint64)


def terms_with_keys(keys) -> CompiledTerms:
    from adaptner.terms.compiled import sorted_into_buckets

    buckets, fingerprints = sorted_into_buckets(np.sort(keys))
    return CompiledTerms({"buckets": buckets, "fingerprints": fingerprints})


@pytest.mark.parametrize("bits", [64, 16])  # few bits: crowded buckets
def test_find_equals_a_dict_of_keys(bits):
    keys = np.unique(random_keys(5000) << np.uint64(64 - bits) if bits < 64 else random_keys(5000))
    place = {key: i for i, key in enumerate(keys.tolist())}
    asked = np.concatenate([keys, random_keys(5000, seed=1), keys + np.uint64(1 << 20)])
    kept = np.uint64(64 - 18 - 32)  # the lowest bits of a key are in no fingerprint
    place = {key >> int(kept): i for key, i in place.items()}
    expected = [place.get(key, -1) for key in (asked >> kept).tolist()]
    assert terms_with_keys(keys).find(asked).tolist() == expected


def test_no_keys_find_nothing():
    none = terms_with_keys(np.zeros(0, dtype=np.uint64))
    assert (none.find(random_keys(100)) == -1).all()
    assert len(none.find(np.zeros(0, dtype=np.uint64))) == 0


def test_the_last_and_first_possible_key_are_found():
    keys = np.array([0, 2**64 - 1], dtype=np.uint64)
    assert terms_with_keys(keys).find(keys).tolist() == [0, 1]


@given(st.lists(st.integers(0, 2**24 - 1)), st.sampled_from([3, 4]))
def test_packed_numbers_are_unpacked(numbers, width):
    rows = packed(np.array(numbers, dtype=np.uint64), width)
    assert rows.shape == (len(numbers), width)
    assert unpacked(rows).tolist() == numbers


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), max_size=200))
def test_ids_of_any_shape_are_kept(ids):
    terms = CompiledTerms(packed_ids(ids, range(len(ids))))
    assert [terms.id_of(i) for i in range(len(ids))] == ids


def test_loaded_terms_equal_those_saved(terms, tmp_path):
    terms.save(tmp_path / "terms.bin")
    loaded = CompiledTerms.load(tmp_path / "terms.bin")
    assert loaded.facts == terms.facts
    assert all((loaded.arrays[name] == array).all() for name, array in terms.arrays.items())
    assert loaded.content() == terms.content() == (tmp_path / "terms.bin").read_bytes()
    assert loaded.checksum == terms.checksum
    assert entries_of(loaded, "asthma") == entries_of(terms, "asthma") != (-1, -1)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("buckets", np.zeros(3, dtype=np.uint32)),
        ("buckets", np.full((1 << 18) + 1, 2, dtype=np.uint32)),
        ("fingerprints", np.zeros(2, dtype=np.uint32)),
        ("fingerprints", np.zeros(2, dtype=np.uint8)),
        ("kind_set", np.full(8, 999, dtype=np.uint16)),
        ("kind_sets", np.zeros((2, 0), dtype=np.uint64)),
        ("marks", np.zeros(1, dtype=np.uint8)),
        ("concepts", np.zeros((8, 2), dtype=np.uint8)),
        ("concept_lists", np.zeros(0, dtype=np.uint8)),
        ("concept_lists", np.zeros((0, 4), dtype=np.uint8)),
        ("beginnings", np.zeros(1, dtype=np.uint8)),
        ("id_starts", np.zeros(0, dtype=np.uint32)),
        ("id_starts", np.array([0, 10**6], dtype=np.uint32)),
        ("id_blocks", None),
        ("field_alone", np.zeros(3, dtype=np.uint32)),
        ("abbreviations", np.zeros(3, dtype=np.uint64)),
    ],
)
def test_arrays_that_do_not_fit_together_are_an_error(terms, tmp_path, name, array):
    arrays = {n: a for n, a in (terms.arrays | {name: array}).items() if a is not None}
    if name == "kind_set":
        arrays[name] = arrays[name][: len(terms)]
    if name == "concepts":
        arrays[name] = np.resize(array, (len(terms), array.shape[1]))
    array_file.write(tmp_path / "terms.bin", arrays, terms.facts)
    with pytest.raises(TermsUnreadable, match="What to do: make it again"):
        CompiledTerms.load(tmp_path / "terms.bin")


@pytest.mark.parametrize("byte", [255, 127])
def test_a_concept_that_there_is_not_is_an_error_when_it_is_asked_for(terms, tmp_path, byte):
    arrays = terms.arrays | {"concepts": np.full((len(terms), 3), byte, dtype=np.uint8)}
    array_file.write(tmp_path / "terms.bin", arrays, terms.facts)
    with pytest.raises(TermsUnreadable, match="concepts"):
        CompiledTerms.load(tmp_path / "terms.bin").ids_of(0)


@pytest.mark.parametrize(
    "facts",
    [
        {"kinds": None},
        {"kinds": [1]},
        {"kinds": ["K"] * 65},
        {"attributes": "none"},
        {"sources": {}},
        {"sources": [["x", 1]]},
        {"sources": []},
        {"field_tokens": "many"},
    ],
)
def test_facts_that_do_not_fit_are_an_error(terms, tmp_path, facts):
    array_file.write(tmp_path / "terms.bin", terms.arrays, terms.facts | facts)
    with pytest.raises(TermsUnreadable):
        CompiledTerms.load(tmp_path / "terms.bin")


def test_counts_of_entries_that_were_not_seen_are_zero(terms):
    terms.arrays["seen"] = np.array([1, 4], dtype=np.uint32)
    terms.arrays["field_alone"] = np.array([0, 7, 9], dtype=np.uint16)
    assert terms.counts("field_alone")[np.array([0, 1, 4, 1, 2])].tolist() == [0, 7, 9, 7, 0]
    assert terms.counts("general_alone")[np.array([0, 1])].tolist() == [0, 0]


def test_a_full_table_of_words_is_replaced_without_a_trace(monkeypatch, terms):
    monkeypatch.setattr(matching, "MAX_CACHED_WORDS", 50)
    finder = NameFinder(terms)
    rng = np.random.default_rng(0)

    def sentences():
        words = [f"w{n}" for n in rng.integers(0, 10**6, 20)]
        return [[*words, "brain", "fever", f"x{rng.integers(10**6)}", "TNF"]]

    batches = [sentences() for _ in range(400)]

    def found(batch):
        text = finder.text(batch)
        matches = finder.find(text)
        return [
            (" ".join(text.words[a:b])) for a, b in zip(matches.start, matches.end, strict=True)
        ]

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(found, batches))
    assert all(r == ["brain fever", "TNF"] for r in results)


def test_kinds_beyond_64_have_bits_in_a_second_word():
    kinds = [kind(f"K{i}", f"X:{i}") for i in range(130)]
    terms = compiled({"X": [f"thing number {i}" for i in range(130)]}, kinds=kinds)
    for i in (0, 63, 64, 128, 129):
        entry, _ = entries_of(terms, f"thing number {i}")
        bits = terms.kinds_of(np.array([entry]))
        assert [n for n in terms.facts["kinds"] if (bits & terms.mask_of([n])).any()] == [f"K{i}"]


def test_header_is_checked_before_anything_is_built(terms, tmp_path):
    content = bytearray(terms.content())
    begin = content.index(b'{"facts"')
    content[begin + 5] ^= 1
    (tmp_path / "terms.bin").write_bytes(content)
    with pytest.raises(TermsUnreadable, match="header"):
        CompiledTerms.load(tmp_path / "terms.bin")
