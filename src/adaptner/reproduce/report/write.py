"""Putting a report on disk: a page, a Markdown file, and the plots that the latter links."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adaptner.files import atomic_file
from adaptner.reproduce.jobs.result import StoredResult
from adaptner.reproduce.report.content import report_document
from adaptner.reproduce.report.html import html_page
from adaptner.reproduce.report.markdown import markdown_page
from adaptner.reproduce.report.request import ReportRequest

PLOTS = "plots"


def write_report(
    results: Iterable[StoredResult], request: ReportRequest, folder: str | Path
) -> list[Path]:
    """The page and the Markdown file. The same results give the same bytes: no clock is read.

    All is made before anything is written, and plots are in place before what links them, so that
    no state in between shows a broken report.
    """
    folder = Path(folder)
    document = report_document(results, request)
    name = request.table.replace("/", "-").lower()
    files = {folder / PLOTS / figure.name: figure.svg + "\n" for figure in document.figures}
    pages = [folder / f"{name}.html", folder / f"{name}.md"]
    files |= {pages[1]: markdown_page(document, PLOTS), pages[0]: html_page(document)}
    for path, text in files.items():
        with atomic_file(path) as file:
            file.write(text)
    return pages
