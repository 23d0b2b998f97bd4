"""The report as one HTML page that needs nothing else: no network, no script, no other file."""

from kdissect.report.html.findings import findings_section, rules_section
from kdissect.report.html.page import footer, header, page
from kdissect.report.html.quality import quality_section, software_section
from kdissect.report.html.traffic import latency_section, matrix_section, timeline_section
from kdissect.report.verdict import Verdict

_SECTIONS = (
    findings_section,
    timeline_section,
    matrix_section,
    latency_section,
    quality_section,
    software_section,
    rules_section,
)


def report_html(verdict: Verdict) -> str:
    """The whole report."""
    return page(header(verdict), [section(verdict) for section in _SECTIONS], footer(verdict))
