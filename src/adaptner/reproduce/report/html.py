"""Renders a report page as HTML without scripts or external files, from ``templates/page.html``."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any

from adaptner.errors import ExtraMissing
from adaptner.reproduce.report.page import ReportPage, printable, table_cell

if TYPE_CHECKING:
    from jinja2 import Template


def render_html(page: ReportPage) -> str:
    return _template().render(page=page) + "\n"


@cache
def _template() -> Template:
    try:
        import jinja2
    except ImportError as error:
        raise ExtraMissing(what="a report page", package="jinja2", extra="reproduce") from error

    def replace_control_characters(value: Any) -> Any:
        return printable(value, keep="\n") if type(value) is str else value

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("adaptner.reproduce.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=replace_control_characters,
    )
    environment.filters |= {"table_cell": table_cell, "data_uri": _data_uri}
    return environment.get_template("page.html")


def _data_uri(svg: str) -> str:
    """Encodes a drawing for an ``img`` element, so that its ids and styles cannot affect the page."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
