"""Splits and checksums of the corpora that jobs read."""

from __future__ import annotations

from reproduce_kit import OWN

from adaptner.corpora.corpus import load_corpus
from adaptner.reproduce.jobs.data import as_source, as_target, checksum


def test_checksum_equals_that_of_the_loaded_corpus():
    for folder in sorted(p for p in OWN.iterdir() if (p / "test.jsonl").is_file()):
        assert checksum(OWN, folder.name) == load_corpus(folder).sha256


def test_scitech_and_webpage_are_split_by_the_rulings(tmp_path):
    def write(place: str, **splits: int) -> None:
        (tmp_path / place).mkdir(parents=True)
        for split, number in splits.items():
            lines = "".join(f"{split}{i}\tB-PER\n\n" for i in range(number))
            (tmp_path / place / f"{split}.conll").write_text(lines)

    write("news/scitech", test=100)
    write("general/webpage", dev=9, test=13)
    write("general/sec", train=5, dev=3, test=4)

    def known(place: str) -> tuple[str, str]:
        return place, checksum(tmp_path, place)

    scitech = as_target(tmp_path, known("news/scitech"))
    assert {name: len(scitech.split(name)) for name in scitech.splits} == {"train": 70, "test": 30}
    assert not set(scitech.split("train")) & set(scitech.split("test"))
    assert scitech == as_target(tmp_path, known("news/scitech"))
    assert len(as_source(tmp_path, known("news/scitech")).split("train")) == 100
    webpage = as_target(tmp_path, known("general/webpage"))
    assert {name: len(webpage.split(name)) for name in webpage.splits} == {"train": 9, "test": 13}
    assert as_source(tmp_path, known("general/webpage")).splits == ("dev", "test")
    assert as_target(tmp_path, known("general/sec")).splits == ("train", "dev", "test")


def test_a_whole_corpus_is_both_train_and_test_split(tmp_path):
    folder = tmp_path / "news" / "scitech"
    folder.mkdir(parents=True)
    (folder / "test.conll").write_text("".join(f"w{i}\tO\n\n" for i in range(10)))
    place = "news/scitech:whole"
    known = (place, checksum(tmp_path, place))
    target = as_target(tmp_path, known)
    assert target.name == "scitech"
    assert target.split("train") == target.split("test")
    assert len(target.split("test")) == 10
