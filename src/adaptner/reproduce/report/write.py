"""Writes a report: an HTML page, a Markdown page and the plots that the latter links."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adaptner.files import atomic_file
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.content import report_page
from adaptner.reproduce.report.html import render_html
from adaptner.reproduce.report.markdown import render_markdown
from adaptner.reproduce.report.request import ReportRequest

PLOTS = "plots"


def write_report(
    results: Iterable[StoredResult], request: ReportRequest, folder: str | Path
) -> list[Path]:
    """Writes the report and returns the paths of both pages. The same results give the same bytes.

    Everything is rendered before the first file is written, and plots are written before the pages
    that link them, so that an interrupted run leaves no broken report.
    """
    folder = Path(folder)
    page = report_page(results, request)
    name = request.table.replace("/", "-").lower()
    files = {folder / PLOTS / figure.name: figure.svg for figure in page.figures}
    pages = [folder / f"{name}.html", folder / f"{name}.md"]
    files |= {pages[1]: render_markdown(page, PLOTS), pages[0]: render_html(page)}
    for path, text in files.items():
        with atomic_file(path) as file:
            file.write(text)
    return pages
