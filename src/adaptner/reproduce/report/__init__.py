"""The report on a published table: our results beside it, as a page of HTML and as Markdown."""

from adaptner.reproduce.report.datasets import dataset_report
from adaptner.reproduce.report.request import ReportRequest
from adaptner.reproduce.report.write import write_report

__all__ = ["ReportRequest", "dataset_report", "write_report"]
