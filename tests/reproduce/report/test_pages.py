from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from report_cases import BIO8, draws, many, request, result

from adaptner.errors import AdaptnerError
from adaptner.reproduce.report import write_report
from adaptner.reproduce.report.content import report_page
from adaptner.reproduce.report.details import format_ranges
from adaptner.reproduce.report.html import render_html
from adaptner.reproduce.report.markdown import render_markdown
from adaptner.reproduce.report.page import (
    Code,
    Paragraph,
    ReportPage,
    ReportRow,
    ReportTable,
    TableCell,
)
from adaptner.reproduce.tables.published import paper

EMPTY = {"meta", "line", "rect", "circle", "polygon", "polyline", "br"}
HOSTILE = '<script>alert("x")</script>|`**&\'"[a](http://evil.example/x.png)\n# \x00\ud800'


class Page(HTMLParser):
    """Checks that tags nest, and keeps what a browser would act upon."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.rows, self.styles = [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append(int(dict(attrs).get("colspan", 1)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        (self.styles if self.open[-1:] == ["style"] else self.text).append(data)


def tables_of(markdown):
    """Every table as rows of cells, a cell being what stands between bars that are not escaped."""
    found, current = [], []
    for row in [*markdown.split("\n"), ""]:
        if row.startswith("|"):
            assert row.endswith("|")
            current.append(re.split(r"(?<!\\)\|", row)[1:-1])
        elif current:
            found.append(current)
            current = []
    return found


def both(results, told):
    document = report_page(results, told)
    return render_html(document), render_markdown(document)


FULL = {
    "methods": ("hgda", "hgda-nes", "metaner", "maml"),
    "targets": tuple(BIO8.values()),
    "sizes": (5, 10, 20, 50),
    "draws": 3,
    "notes": ("The vectors are others than the paper's.",),
    "skipped": {"BioBERT": "a transformer encoder is to come"},
    "incomparable": {"BC4CHEMD": "a tenth of it is at hand"},
    "hardness": [
        {"iteration": i, "domain": d, "gamma": {"encoder": g}}
        for i in range(1, 40)
        for d, g in (("Gene", 0.5), ("Drug", 0.3), ("Species", 0.2))
    ],
}


@pytest.fixture(scope="module")
def pages():
    return both(many(), request(**FULL))


def test_the_page_is_well_formed_and_its_tables_are_rectangular(pages):
    page = Page(pages[0])
    assert page.tags.count("h1") == 1
    assert page.tags.count("svg") >= 10
    assert len(page.rows) > 50
    widths = {sum(row) for row in page.rows}
    assert all(width > 1 for width in widths)


def test_the_page_asks_for_nothing_from_outside(pages):
    page = Page(pages[0])
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "a"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "poster", "xlink:href"}
    assert not {name for name in names if name.startswith("on")}
    styles = "".join(page.styles)
    assert "url(" not in styles
    assert "@import" not in styles
    assert "http" not in pages[0].replace("http-equiv", "")


def test_markdown_tables_are_rectangular(pages):
    tables = tables_of(pages[1])
    assert len(tables) >= 4
    for table in tables:
        assert {len(row) for row in table} == {len(table[0])}, table[0]
        assert all(set(cell.strip()) <= set("-:") and cell.strip() for cell in table[1])


def test_the_main_table_comes_before_everything_that_folds(pages):
    html, markdown = pages
    assert html.index("<table") < html.index("<details")
    assert html.index("0.3001") < html.index("<details")
    assert markdown.index("0.3001") < markdown.index("## ")


def test_both_say_what_the_report_must_say(pages):
    html = " ".join(Page(pages[0]).text)
    for text in (html, pages[1]):
        for wanted in (
            "adaptner reproduce hgda/3",
            "Profile quick",
            "The vectors are others than the paper's.",
            "a transformer encoder is to come",
            "a tenth of it is at hand",
            "0.3001",  # HGDA, 5 sentences, NCBI, as printed
            "few-shot/strict-micro-f1",
            "0.1.0+abc",
            "ab" * 32,  # a checksum in full
            "0-2",  # seeds
            "Known slips",
            "A mean of F1 cannot exceed",
            "Wilcoxon",
        ):
            assert wanted in text, wanted


@pytest.mark.parametrize("table", ["hgda/3", "hgda/4", "metaner/3", "pdaln/1", "jia2019/5"])
def test_no_results_make_a_page_with_the_published_figures(table):
    html, markdown = both([], request(table, {}))
    Page(html)
    tables_of(markdown)
    p = paper(table.split("/")[0])
    published = p.table(table.split("/")[1])
    for row in published.rows:
        for value in row.values:
            assert f"{value:.{published.decimals}f}" in html
            assert f"{value:.{published.decimals}f}" in markdown
    assert "There are no results yet" in html


def test_one_draw_makes_a_page():
    html, markdown = both(draws([0.31]), request(draws=1))
    Page(html)
    assert "one draw" in markdown
    assert "nan" not in html.lower().replace("nano", "")


def test_fewer_draws_than_asked_for_are_marked():
    _, markdown = both(draws([0.3, 0.4]), request(draws=5))
    assert "±0.071‡" in markdown


def test_missing_cells_are_said_in_every_form():
    results = [r for r in many() if (r.method, r.target) != ("hgda", "s800")]
    html, markdown = both(results, request(**FULL))
    for text in (html, markdown):
        assert text.count("no result: the job failed or has not run yet") >= 4  # one a size
        assert "missing: S800" in text


def test_hostile_names_are_text_and_nothing_else():
    columns = {**BIO8, "NCBI": HOSTILE}
    results = [
        result(method, target, size, seed, 0.3 + seed / 50, variant=HOSTILE, code=HOSTILE,
               protocol=HOSTILE, data={HOSTILE: HOSTILE}, settings={HOSTILE: HOSTILE},
               finished=HOSTILE, profile=HOSTILE)
        for method in (HOSTILE, "hgda")
        for target in (HOSTILE, "s800", HOSTILE + "2")
        for size in (5, 10)
        for seed in range(2)
    ]  # fmt: skip
    told = request(
        columns=columns,
        command=HOSTILE,
        profile=HOSTILE,
        notes=(HOSTILE,),
        skipped={HOSTILE: HOSTILE},
        incomparable={"NCBI": HOSTILE},
        targets=(HOSTILE,),
        hardness=[{"iteration": i, "domain": HOSTILE, "gamma": 0.5} for i in range(1, 9)],
    )
    html, markdown = both(results, told)
    page = Page(html)
    assert "script" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert 'alert("x")' in " ".join(page.text)  # it is shown, as text
    for table in tables_of(markdown):
        assert {len(row) for row in table} == {len(table[0])}
    # Between fences everything is literal; outside them nothing of it is markup.
    prose = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$", "", markdown)
    assert "<script" not in prose
    assert not re.search(r"(?<!\\)\[a(?<!\\)\]", prose)  # no link is made of it
    for text in (html, markdown):
        text.encode("utf-8")
        assert "\x00" not in text


def test_a_fence_cannot_be_ended_from_inside():
    text = render_markdown(ReportPage("t", "a", [Code("x\n```\n````\n# not a title")]))
    assert "`````\nx\n```\n````\n# not a title\n`````" in text


def test_an_entry_is_written_in_both_forms():
    grid = ReportTable(
        ["a", "b"], [ReportRow([TableCell("x|y", "(z)", "under", strong=True), "1"])]
    )
    document = ReportPage("t", "a", [grid, Paragraph("p < 0.05 & *")])
    assert "| **x\\|y** (z) · under | 1 |" in render_markdown(document)
    assert "p &lt; 0.05 &amp; \\*" in render_markdown(document)
    html = render_html(document)
    assert "<th><b>x|y</b> <small>(z)</small><span>under</span></th>" in html
    assert "p &lt; 0.05 &amp; *" in html


def test_seeds_are_written_as_ranges():
    assert format_ranges([4, 0, 1, 2, 7]) == "0-2, 4, 7"
    assert format_ranges([]) == ""
    assert format_ranges([3, 3]) == "3"


def test_results_that_are_not_one_experiment_raise_doubts():
    results = [
        *draws([0.3, 0.4], code="1"),
        *draws([0.3, 0.4], size=10, code="2", limited=True, sentences=1500),
        *draws([0.3, 0.4], size=20, data={"ncbi-disease": "cd" * 32}, profile="custom"),
        result(key="again", finished="2027-01-01T00:00:00Z", code="1"),
    ]
    _, markdown = both(results, request())
    assert "versions of the code" in markdown
    assert "the data changed between runs: ncbi-disease" in markdown
    assert "custom and quick" in markdown
    assert "at most 1,500 sentences of it, on ncbi-disease" in markdown
    assert "1 draws were there more than once" in markdown


def test_files_are_written_whole_and_the_same_each_time(tmp_path):
    folder = tmp_path / "deep" / "reports"
    results = many(sizes=(5, 10))
    pages = write_report(results, request(**FULL), folder)
    assert [p.name for p in pages] == ["hgda-3.html", "hgda-3.md"]
    written = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert set(pages) < set(written)
    assert write_report(list(results), request(**FULL), folder) == pages
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == written
    # Every plot that Markdown links is there, and nothing else is left behind.
    linked = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", pages[1].read_text("utf-8"))
    assert linked
    assert {folder / name for name in linked} == set(written) - set(pages)


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises((AdaptnerError, OSError)):
        write_report([], request(), tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text(encoding="utf-8") == ""


def test_where_no_corpus_stands_for_a_column_ours_come_first():
    names = ("conll03", "scitech")
    results = [r for t in names for r in draws([0.61, 0.7], "metaner", t, 100, share=100.0)]
    html, markdown = both(results, request("metaner/2", {}, targets=names))
    for text in (html, markdown):
        assert text.index("65.5") < text.index("76.04")
        assert "No corpus at hand stands for a column" in text
