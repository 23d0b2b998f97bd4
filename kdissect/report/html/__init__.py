"""The report as one self-contained HTML page: no network, no script, no other file."""

from kdissect.model.cause import Diagnosis
from kdissect.model.wording import plural
from kdissect.report.html.causes import CAUSES, causes_section
from kdissect.report.html.findings import findings_section, rules_section
from kdissect.report.html.page import LINKS, footer, header, page
from kdissect.report.html.quality import quality_section, software_section
from kdissect.report.html.timeline import timeline_section
from kdissect.report.html.traffic import latency_section, matrix_section
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


def report_html(verdict: Verdict, causes: Diagnosis | None = None) -> str:
    """Return the whole report, beginning with the causes of `why` if they were determined."""
    sections = [section(verdict) for section in _SECTIONS]
    links = list(LINKS)
    if causes is not None:
        sections.insert(0, causes_section(causes, _looked_at(verdict)))
        links.insert(0, CAUSES)
    return page(header(verdict, causes), sections, footer(verdict), links)


def _looked_at(verdict: Verdict) -> str:
    kafka = plural(verdict.coverage.connections["kafka"], "Kafka connection", spec=",")
    exchanges = plural(verdict.exchanges, "exchange", spec=",")
    return f"{exchanges} on {kafka} were looked at. The section Capture lists what could not be seen."
