"""Reports that compare our results with a published table, as HTML and Markdown."""

from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.report.write import write_report

__all__ = ["ReportRequest", "write_report"]
