from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import pytest
from report_cases import BIO8, draws, many, request, result

from adaptner.errors import AdaptnerError, ExtraMissing
from adaptner.reproduce.report import from_plan, write_report
from adaptner.reproduce.report.content import report_page
from adaptner.reproduce.report.details import format_ranges
from adaptner.reproduce.report.from_plan import require_report_packages
from adaptner.reproduce.report.html import _template, render_html
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

pytestmark = pytest.mark.slow

VOID_ELEMENTS = {"meta", "br", "img"}
HOSTILE = '<script>alert("x")</script>|`**&\'"[a](http://evil.example/x.png)\n# \x00\ud800'


class Page(HTMLParser):
    """Parses a page and checks that its elements nest."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.rows, self.styles = [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append(int(dict(attrs).get("colspan", 1)))
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        (self.styles if self.open[-1:] == ["style"] else self.text).append(data)


def tables_of(markdown):
    """Returns tables as rows of cells, which are separated by unescaped bars."""
    found, current = [], []
    for row in [*markdown.split("\n"), ""]:
        if row.startswith("|"):
            assert row.endswith("|")
            current.append(re.split(r"(?<!\\)\|", row)[1:-1])
        elif current:
            found.append(current)
            current = []
    return found


def html_and_markdown(results, report_request):
    page = report_page(results, report_request)
    return render_html(page), render_markdown(page)


FULL = {
    "methods": ("hgda", "hgda-nes", "metaner", "maml"),
    "targets": tuple(BIO8.values()),
    "sizes": (5, 10, 20, 50),
    "draws": 3,
    "notes": ("The vectors differ from the paper's.",),
    "skipped": {"BioBERT": "no transformer encoder"},
    "incomparable": {"BC4CHEMD": "only a tenth of it"},
    "hardness": [
        {"iteration": i, "domain": d, "gamma": {"encoder": g}}
        for i in range(1, 40)
        for d, g in (("Gene", 0.5), ("Drug", 0.3), ("Species", 0.2))
    ],
}


@pytest.fixture(scope="module")
def pages():
    return html_and_markdown(many(), request(**FULL))


def test_page_is_well_formed_and_has_plots(pages):
    page = Page(pages[0])
    assert page.tags.count("h1") == 1
    assert page.tags.count("img") >= 10
    assert len(page.rows) > 50
    widths = {sum(row) for row in page.rows}
    assert all(width > 1 for width in widths)


def test_page_loads_nothing_from_outside(pages):
    page = Page(pages[0])
    assert not {"script", "link", "iframe", "object", "embed", "base", "a"} & set(page.tags)
    names = {name for name, _ in page.attributes}
    assert not names & {"href", "srcset", "action", "data", "poster", "xlink:href"}
    assert not {name for name in names if name.startswith("on")}
    sources = [value for name, value in page.attributes if name == "src"]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
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


def test_main_table_precedes_all_folding_sections(pages):
    html, markdown = pages
    assert html.index("<table") < html.index("<details")
    assert html.index("0.3001") < html.index("<details")
    assert markdown.index("0.3001") < markdown.index("## ")


def test_both_pages_have_the_required_facts(pages):
    html = " ".join(Page(pages[0]).text)
    for text in (html, pages[1]):
        for wanted in (
            "adaptner reproduce hgda/3",
            "Profile quick",
            "The vectors differ from the paper's.",
            "no transformer encoder",
            "only a tenth of it",
            "0.3001",  # HGDA, 5 sentences, NCBI, as printed
            "few-shot/strict-micro-f1",
            "0.1.0+abc",
            "ab" * 32,  # a checksum in full
            "0-2",  # seeds
            "Known errors",
            "A mean of F1 cannot exceed",
            "One base for each domain: all rows.",
            "they get no p-values",
            "Verdicts (draws from all sentences)",
        ):
            assert wanted in text, wanted


@pytest.mark.parametrize("table", ["hgda/3", "hgda/4", "metaner/3", "pdaln/1", "jia2019/5"])
def test_page_without_results_has_the_published_figures(table):
    html, markdown = html_and_markdown([], request(table, {}))
    Page(html)
    tables_of(markdown)
    p = paper(table.split("/")[0])
    published = p.table(table.split("/")[1])
    for row in published.rows:
        for value in row.values:
            assert f"{value:.{published.decimals}f}" in html
            assert f"{value:.{published.decimals}f}" in markdown
    assert "There are no results yet" in html


def test_page_of_one_base_has_no_p_value(pages):
    for text in pages:
        assert "Wilcoxon" not in text
        assert "better" not in text
        assert "Methods with one base have no p-values" in text


def crossed(method, shift):
    return [
        result(method, seed=draw, base_seed=base, f1=0.2 + 0.1 * draw + shift * base, entities=draw)
        for draw in range(3)
        for base in range(2)
    ]


def test_page_of_crossed_bases_shows_both_deviations_and_p_values():
    results = [*crossed("hgda", 0.1), *crossed("metaner", 0.05)]
    for text in html_and_markdown(results, request(draws=3, bases=2)):
        # means of draws 0.25, 0.35, 0.45; of bases 0.3, 0.4
        assert "0.350" in text
        assert "±0.122 (0.100 draws, 0.071 bases)" in text
        assert "the root of the sum of two variances" in text
        assert "Wilcoxon" in text
        assert "One base" not in text
        assert "1 of 3" in text  # draws without entity


def test_rows_with_one_base_are_named_if_others_have_several():
    results = [*crossed("hgda", 0.1), *draws([0.3, 0.4, 0.5], "metaner")]
    _, markdown = html_and_markdown(results, request(draws=3, bases=2))
    assert "One base for each domain: MetaNER (5 sentences)." in markdown
    assert "±0.100‡" in markdown  # fewer bases than requested


def test_page_of_draws_with_entities_says_so_at_each_size():
    results = draws([0.3, 0.4, 0.5], draws_from="with-entities")
    for text in html_and_markdown(results, request(draws_from="with-entities")):
        assert "5 sentences with entities" in text
        assert "Verdicts (draws from sentences with an entity)" in text


def test_single_draw_is_marked():
    html, markdown = html_and_markdown(draws([0.31]), request(draws=1))
    Page(html)
    assert "one draw" in markdown
    assert "nan" not in html.lower().replace("nano", "")


def test_fewer_draws_than_requested_are_marked():
    _, markdown = html_and_markdown(draws([0.3, 0.4]), request(draws=5))
    assert "±0.071‡" in markdown


def test_missing_cells_have_a_reason_on_both_pages():
    results = [r for r in many() if (r.method, r.target) != ("hgda", "s800")]
    html, markdown = html_and_markdown(results, request(**FULL))
    for text in (html, markdown):
        assert text.count("the job failed or has not run yet") >= 4  # one per size
        assert "missing: S800" in text


def test_hostile_names_are_escaped():
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
    hostile = request(
        columns=columns,
        command=HOSTILE,
        profile=HOSTILE,
        notes=(HOSTILE,),
        skipped={HOSTILE: HOSTILE},
        incomparable={"NCBI": HOSTILE},
        targets=(HOSTILE,),
        hardness=[{"iteration": i, "domain": HOSTILE, "gamma": 0.5} for i in range(1, 9)],
    )
    html, markdown = html_and_markdown(results, hostile)
    page = Page(html)
    assert "script" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert 'alert("x")' in " ".join(page.text)
    for table in tables_of(markdown):
        assert {len(row) for row in table} == {len(table[0])}
    # Code blocks are literal; outside them the names must not be markup.
    prose = re.sub(r"(?ms)^(`{3,})\n.*?\n\1$", "", markdown)
    assert "<script" not in prose
    assert not re.search(r"(?<!\\)\[a(?<!\\)\]", prose)  # no link
    for text in (html, markdown):
        text.encode("utf-8")
        assert "\x00" not in text


def test_code_block_cannot_be_ended_by_its_text():
    text = render_markdown(ReportPage("t", "a", [Code("x\n```\n````\n# not a title")]))
    assert "`````\nx\n```\n````\n# not a title\n`````" in text


def test_table_cell_is_rendered_on_both_pages():
    table = ReportTable(["a", "b"], [ReportRow([TableCell("x|y", "(z)", "under", bold=True), "1"])])
    page = ReportPage("t", "a", [table, Paragraph("p < 0.05 & *")])
    assert "| **x\\|y** (z) · under | 1 |" in render_markdown(page)
    assert "p &lt; 0.05 &amp; \\*" in render_markdown(page)
    html = render_html(page)
    assert "<th><b>x|y</b> <small>(z)</small><span>under</span></th>" in html
    assert "p &lt; 0.05 &amp; *" in html


def test_protocol_row_states_optimiser_rates_and_how_far_the_encoder_moved():
    settings = {"adaptation": {"optimiser": {"name": "sgd", "rate": 0.004}, "encoder_scale": 0.5}}
    moved = {"encoder_change": 3.0, "base_encoder_change": 4.0}
    _, markdown = html_and_markdown(draws([0.3, 0.4], settings=settings, **moved), request())
    assert "| sgd | 0.004 / 0.002 | 3 (75 %) |" in markdown
    _, markdown = html_and_markdown(draws([0.3, 0.4], settings=settings), request())
    assert "| sgd | 0.004 / 0.002 |  |" in markdown


def test_seeds_are_formatted_as_ranges():
    assert format_ranges([4, 0, 1, 2, 7]) == "0-2, 4, 7"
    assert format_ranges([]) == ""
    assert format_ranges([3, 3]) == "3"


def test_results_of_several_experiments_cause_warnings():
    results = [
        *draws([0.3, 0.4], code="1"),
        *draws([0.3, 0.4], size=10, code="2", limited=True, sentences=1500),
        *draws([0.3, 0.4], size=20, data={"ncbi-disease": "cd" * 32}, profile="custom"),
        result(key="again", finished="2027-01-01T00:00:00Z", code="1"),
    ]
    _, markdown = html_and_markdown(results, request())
    assert "versions of the code" in markdown
    assert "the data changed between runs: ncbi-disease" in markdown
    assert "custom and quick" in markdown
    assert "at most 1,500 sentences, was scored on ncbi-disease" in markdown
    assert "1 draws had been run before" in markdown


def test_same_results_give_the_same_files(tmp_path):
    folder = tmp_path / "deep" / "reports"
    results = many(("hgda", "maml"), sizes=(5,), seeds=2)
    pages = write_report(results, request(**FULL), folder)
    assert [p.name for p in pages] == ["hgda-3.html", "hgda-3.md"]
    written = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert set(pages) < set(written)
    assert write_report(list(results), request(**FULL), folder) == pages
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == written
    # The folder has all plots that the Markdown page links, and no other file.
    linked = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", pages[1].read_text("utf-8"))
    assert linked
    assert {folder / name for name in linked} == set(written) - set(pages)


def test_file_in_place_of_the_folder_raises_and_is_kept(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises((AdaptnerError, OSError)):
        write_report([], request(), tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text(encoding="utf-8") == ""


def test_additional_corpora_come_first_if_no_column_has_results():
    names = ("conll03", "scitech")
    results = [r for t in names for r in draws([0.61, 0.7], "metaner", t, 100, share=100.0)]
    html, markdown = html_and_markdown(results, request("metaner/2", {}, targets=names))
    for text in (html, markdown):
        assert text.index("65.5") < text.index("76.04")
        assert "None of the corpora that were run is in the published table" in text


def test_missing_jinja2_names_the_pip_command(monkeypatch):
    _template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'adaptner\[reproduce\]'"):
        render_html(ReportPage("t", "a", []))


@pytest.mark.parametrize("package", ["scipy", "matplotlib", "jinja2"])
def test_missing_report_packages_are_found_before_a_run(package, monkeypatch):
    require_report_packages()
    monkeypatch.setattr(from_plan, "find_spec", lambda name: None if name == package else name)
    with pytest.raises(ExtraMissing, match=package):
        require_report_packages()
