"""Verdicts to make reports of: real captures, and traffic that would rather be markup."""

from functools import cache

from kdissect.api import Dissection
from kdissect.report.verdict import Verdict
from kdissect.rules.judge import Judge
from kdissect.rules.run_coverage.capture_quality import quality_of
from tests.rules.scripted_connection import VERSIONS, ScriptedConnection
from tests.support.console import CAPTURES

# Clean, partial, many clients, no software named, errors of clients and of brokers.
NAMES = (
    "kafka44_rdkafka_admin.pcapng",
    "kafka44_java_errors.pcapng",
    "kafka28zk_sarama_releases.pcapng",
    "mock_rdk216_txn.pcap",
    "tansu_rdk216_acks.pcap",
)

# What some reader of some report would take for more than text.
EVIL = (
    "a<script>alert(1)</script>",
    "]]></failure><b>",
    "x\x1b[2J\x1b]0;title\x07",
    "\n::error::owned\r\n::set-output name=a::b%0A",
    "|`code`|**b**|[link](javascript:x)|<img src=x onerror=y>|www.example.com",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "nul\x00 del\x7f c1\x9b",
    "&lt;script&gt; &#60; \" ' \\ {0} ${x}",
    "--><style>*{display:none}</style></details></table>",
)


def verdict_of(name: str) -> Verdict:
    """Return what `check` makes of a capture of the corpus."""
    judge = _judged(name)
    return Verdict(judge, quality_of(judge.coverage), (str(CAPTURES / name),))


@cache
def _judged(name: str) -> Judge:
    judge = Judge()
    for event in Dissection(str(CAPTURES / name)).events():
        judge.add(event)
    judge.finish()
    return judge


def verdict_on(text: str, path: str | None = None) -> Verdict:
    """Return a verdict with a text wherever a peer, a user or a file system may put one."""
    from kdissect.engine.analyzer import Analyzer

    talk = ScriptedConnection()  # the first frame must look like Kafka
    software = {"client_software_name": text, "client_software_version": text}
    talk.ask("ApiVersions", 3, software, client_id=text)
    talk.answer("ApiVersions", 3, VERSIONS)
    talk.ask("Produce", 9, {"acks": 7, "timeout_ms": 1, "topic_data": []}, client_id=text)
    talk.answer("Produce", 9, {"responses": []})
    talk.ask("Metadata", 9, {"topics": [{"name": text}]}, client_id=text)
    analyzer, judge = Analyzer(), Judge(labels={"client": text, "broker": text})
    for packet in talk.close():
        for event in analyzer.feed(packet):
            judge.add(event)
    for event in analyzer.close():
        judge.add(event)
    judge.finish()
    assert any(finding.code == "PRD001" for finding in judge.findings.all())
    for finding in judge.findings.all():  # rules quote what they saw; a report must not count on it
        finding.seen = finding.expected = finding.consequence = text
        finding.place = finding.place._replace(path=text)
    return Verdict(judge, quality_of(judge.coverage), (text if path is None else path,))
