"""`kdissect mcp`, driven by the client of the package `mcp`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kdissect.cli import main
from kdissect.cli.reference import mcp_command
from kdissect.model.extras import are_installed
from tests.support.console import CAPTURES, CHECKOUT

CAPTURE = str(CAPTURES / "kafka44_java_errors.pcapng")
NEEDS_MCP = pytest.mark.skipif(not are_installed("mcp"), reason="needs the extra mcp")
TOOLS = ["captures", "why", "check", "stats", "exchanges", "exchange", "topics", "groups", "fields"]
Call = tuple[str, dict[str, Any]]


def asked(*calls: Call, inputs: tuple[str, ...] = (CAPTURE,)) -> tuple[list[Any], list[Any]]:
    """Return the tools of a server, and the results of calls."""

    async def session() -> tuple[list[Any], list[Any]]:
        mcp, stdio = import_module("mcp"), import_module("mcp.client.stdio")
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "kdissect", "mcp", *inputs], cwd=str(CHECKOUT)
        )
        async with mcp.Client(stdio.stdio_client(server, errlog=sys.stderr)) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, parameters) for name, parameters in calls]

    return asyncio.run(session())


def printed(capfd: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capfd.readouterr()
    assert main([*arguments, "--format", "json"]) in (0, 1)
    return json.loads(capfd.readouterr().out)


@NEEDS_MCP
@pytest.mark.exhaustive
@pytest.mark.rotated(2)
def test_tools_return_what_the_commands_print(capfd: pytest.CaptureFixture[str]) -> None:
    tools, results = asked(
        ("captures", {}),
        ("why", {"client": "mallory-p"}),
        ("check", {"limit": 1}),
        ("stats", {"by": "client_id,api", "filter": "error", "limit": 3}),
        ("exchanges", {"filter": "latency > 10ms", "limit": 2, "sort": "latency"}),
        ("exchange", {"id": "a39cb34db5568264/4"}),
        ("topics", {"limit": 2}),
        ("groups", {}),
        ("fields", {"prefix": "batch."}),
    )
    assert [tool.name for tool in tools] == TOOLS
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert not any(result.is_error for result in results)
    by_topic = [json.loads(result.content[0].text) for result in results]
    rows = "--table=rows", "-Y", "error", "--limit=3"
    assert by_topic == [
        printed(capfd, "info", CAPTURE),
        printed(capfd, "why", CAPTURE, "--client", "mallory-p"),
        printed(capfd, "check", CAPTURE, "--table=findings", "--limit=1", "--no-config"),
        printed(capfd, "stats", CAPTURE, "--by=client_id,api", *rows),
        printed(capfd, "inspect", CAPTURE, "-Y", "latency > 10ms", "--limit=2", "--sort=latency"),
        printed(capfd, "inspect", CAPTURE, "--bodies", "--exchange=a39cb34db5568264/4", "--limit=1"),
        printed(capfd, "topics", CAPTURE, "--limit=2"),
        printed(capfd, "groups", CAPTURE, "--limit=30"),
        printed(capfd, "fields", "batch.", "--limit=100"),
    ]


@NEEDS_MCP
@pytest.mark.exhaustive
@pytest.mark.rotated(2)
def test_wrong_calls_are_errors_and_write_nothing(tmp_path: Path) -> None:
    written = tmp_path / "written"
    _, results = asked(
        ("exchanges", {"filter": "client_id =="}),
        ("exchanges", {"limit": 201}),
        ("exchange", {"id": f"x --output={written}"}),
        ("stats", {"by": f"api --output={written}"}),
        ("fields", {"prefix": f"--output={written}"}),
        ("why", {"topic": f"--output={written}"}),
        ("exchanges", {"filter": "request.bytes > 0", "limit": 200}),
    )
    texts = [result.content[0].text for result in results]
    assert [result.is_error for result in results] == [True, True, True, True, True, False, False]
    assert "a value is missing at the end" in texts[0]
    assert "less than or equal to 200" in texts[1]
    assert "nothing wrong" in json.loads(texts[5])["summary"]
    assert not written.exists()


@NEEDS_MCP
@pytest.mark.exhaustive
@pytest.mark.rotated(2)
def test_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    server: Any = import_module("kdissect.cli.reference.mcp_server")
    monkeypatch.setattr(server, "MAX_BYTES", 1_000)
    tools = server.server_of([CAPTURE])
    with pytest.raises(Exception, match="more than 1,000 bytes: use a filter or a lower limit"):
        asyncio.run(tools.call_tool("why", {}))


def test_a_missing_package_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mcp_command, "are_installed", lambda *_: False)
    assert main(["mcp", CAPTURE]) == 2
    assert "mcp needs the package mcp: pip install 'mcp>=2.3,<3'" in capfd.readouterr().err


def test_inputs_are_files_that_can_be_read(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mcp_command, "are_installed", lambda *_: True)
    assert main(["mcp", "-"]) == 2
    assert "standard input carries the protocol: name files" in capfd.readouterr().err
    assert main(["mcp", "absent.pcap"]) == 3
    assert "absent.pcap: No such file or directory" in capfd.readouterr().err


@NEEDS_MCP
def test_the_page_lists_the_tools_with_their_parameters() -> None:
    server = import_module("kdissect.cli.reference.mcp_server").server_of([CAPTURE])
    page = (CHECKOUT / "docs" / "mcp.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `\w[^|]*` \| ([^|]*)\|", page, re.MULTILINE)
    listed = {name: re.findall(r"`(\w+)`(?: \(`?(\w+)`?\))?", parameters) for name, parameters in rows}
    for tool in asyncio.run(server.list_tools()):
        properties = tool.input_schema.get("properties", {})
        defaults = [(name, str(about.get("default") or "")) for name, about in properties.items()]
        assert listed.pop(tool.name) == defaults, tool.name
    assert listed == {}
