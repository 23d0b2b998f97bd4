"""Examples for the help of each command: what it is for, and the line."""

_EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "inspect": (
        ("what was refused, by whom", "inspect a.pcapng -Y error -e time,principal,client_id,api,errors"),
        (
            "slow Produces, with their bodies",
            "inspect a.pcapng -Y 'api == Produce and latency > 1s' --bodies",
        ),
        ("for scripts", "inspect a.pcapng --format jsonl -o a.jsonl"),
    ),
    "tui": (
        ("look into a capture", "tui a.pcapng"),
        ("what goes over an interface now", "tui -i eth0 -f 'tcp port 9092'"),
    ),
    "live": (
        ("exchanges as they complete", "live -i eth0 -f 'tcp port 9092' -Y 'latency > 1s'"),
        (
            "and keep the packets of an hour",
            "live -i eth0 -w a.pcapng --rotate-time 10m --keep 6",
        ),
        ("from another machine", "live -"),
    ),
    "record": (
        ("keep ten minutes, and more of each trouble", "record -i eth0 -f 'tcp port 9092' -d recorder"),
        (
            "trouble of some kinds",
            "record -i eth0 -d recorder --when stops --when 'errors == REQUEST_TIMED_OUT, 20 in 10s'",
        ),
        ("while tests run", "record -i lo -d recorder -- pytest"),
    ),
    "request-log": (
        ("log requests for ten minutes", "request-log on kafka1:9092 --command-config admin.properties"),
        ("until when, and at which level", "request-log status kafka1:9092"),
    ),
    "report": (
        ("one page to attach to a ticket", "report a.pcapng -o report.html"),
        ("about one group", "report a.pcapng -Y 'group == payments' -o report.html"),
    ),
    "traces": (
        (
            "slow Produces as spans, into a file",
            "traces a.pcapng -Y 'api == Produce and latency > 1s' -o a.jsonl",
        ),
        ("to a collector on this machine", "traces a.pcapng --endpoint http://localhost:4318"),
    ),
    "mcp": (("answer questions about a capture over standard input and output", "mcp a.pcapng"),),
    "conform": (
        ("test a broker, and keep the packets", "conform broker 127.0.0.1:9092 --capture run.pcapng"),
        ("one API, as JUnit XML", "conform broker 127.0.0.1:9092 --api Fetch --format junit -o a.xml"),
        ("test a client", "conform client --capture run.pcapng -- python producer.py '{bootstrap}'"),
    ),
    "tap": (("the plaintext of a JVM, into a file", "tap 4094 -w app.pcapng"),),
    "info": (
        ("what is in these files", "info a.pcapng b.pcapng"),
        ("errors by number", "info a.pcapng --table errors --format tsv"),
    ),
    "connections": (
        ("why no client can connect", "connections a.pcapng --problems"),
        (
            "each way by itself, captured at both ends with one clock",
            "connections client.pcapng broker.pcapng --one-way --clocks-within 0ms",
        ),
        ("who is who", "connections a.pcapng -e client,client_id,software,principal"),
    ),
    "records": (
        ("what was written to a topic", "records a.pcapng --topic orders -e time,principal,key,value"),
        ("to Parquet", "records a.pcapng -o records.parquet"),
    ),
    "stats": (
        ("slowest clients first", "stats a.pcapng --by client_id --sort p99 --limit 10"),
        ("one API over time", "stats a.pcapng -Y 'api == Fetch' --over-time"),
        ("to a spreadsheet", "stats a.pcapng --by topic -o topics.csv"),
    ),
    "personal-data": (
        ("personal data and credentials by field", "personal-data a.pcapng --schemas registry/"),
        ("a page for auditors", "personal-data a.pcapng -o personal.html"),
    ),
    "topics": (
        ("who uses a topic", "topics a.pcapng --topic 'orders*'"),
        ("users as rows", "topics a.pcapng --table users --format csv"),
    ),
    "groups": (
        ("why does it rebalance", "groups a.pcapng --group payments"),
        ("groups with the most lag", "groups a.pcapng --sort lag -e group,state,lag"),
        ("who polls for nothing", "groups a.pcapng --table fetch_sessions --sort empty_early"),
    ),
    "producers": (
        ("retries, duplicates, transactions", "producers a.pcapng"),
        ("transactions that took longest", "producers a.pcapng --table transactions --sort took_ns"),
    ),
    "fetch-sessions": (("who polls for nothing", "fetch-sessions a.pcapng --sort empty_early"),),
    "delay": (
        ("how long records take to each group", "delay a.pcapng --by group"),
        ("producers whose clocks are ahead", "delay a.pcapng --table clocks --sort ahead_least_ns"),
    ),
    "mirror": (
        ("whether a copy has all records", "mirror a.pcapng --topic orders --exit-code"),
        ("topics that have another name there", "mirror a.pcapng --map orders=orders-v2"),
    ),
    "offsets": (
        ("who was reset, and why", "offsets a.pcapng --topic 'orders*'"),
        ("whose transaction holds readers", "offsets a.pcapng --table held --format csv"),
    ),
    "diff": (
        ("it worked yesterday", "diff good.pcapng bad.pcapng"),
        ("two clients of one capture", "diff a.pcapng -Y 'client_id == one' -Y 'client_id == other'"),
        ("in a CI: nothing may differ", "diff before.pcapng after.pcapng --exit-code"),
    ),
    "logins": (
        ("who cannot log in", "logins a.pcapng"),
        (
            "each login that failed",
            "logins a.pcapng --table logins --sort outcome:desc --format csv",
        ),
    ),
    "access": (
        ("who was denied what", "access a.pcapng -Y error --sort denied"),
        ("the fewest ACLs", "access a.pcapng --acls kafka-acls"),
        ("ACLs that are not used", "access a.pcapng --existing acls.txt --table unused"),
    ),
    "changes": (
        ("who deleted the topic", "changes a.pcapng --format tsv -e time,principal,client_id,kind,name,did"),
    ),
    "upgrade": (
        ("in a CI: fails where a client breaks", "upgrade a.pcapng --target 4.0"),
        ("who is concerned, by software", "upgrade a.pcapng --target 4.0 --table software"),
        ("all uses, by software", "upgrade a.pcapng --target 4.0 --all --sort software --format csv"),
    ),
    "segments": (
        ("is it sound", "segments /var/lib/kafka/orders-0"),
        ("its records", "segments 00000000000000000000.log --records --limit 10"),
    ),
    "check": (
        ("in a CI", "check a.pcapng --fail-on warning --report sarif=a.sarif"),
        ("one rule, and its packets", "check a.pcapng --select FRM006 --evidence out"),
    ),
    "why": (
        ("what is wrong here", "why a.pcapng"),
        ("for an assistant or a script", "why a.pcapng --format json"),
        ("what about this group", "why a.pcapng --group payments"),
    ),
    "extract": (
        ("a capture for a bug report", "extract a.pcapng -Y 'group == payments' --redact -o b.pcapng"),
    ),
    "tables": (("everything as Parquet", "tables a.pcapng --output out"),),
    "pipeline": (("captures of a day on Spark", "pipeline run day/ --output tables"),),
    "rules": (
        ("why is it a finding", "rules FRM006"),
        ("all rules as rows", "rules --format csv"),
    ),
    "fields": (
        ("fields of request bodies", "fields request.acks"),
        ("as JSON", "fields --json"),
    ),
    "limits": (("the bounds, largest first", "limits --sort default"),),
    "decode": (("a request given as hex", "decode 00000010001200000000000100000000"),),
    "schema": (("a message in a version", "schema Fetch 13"),),
    "wireshark-plugin": (
        (
            "for tshark and Wireshark",
            "wireshark-plugin -o ~/.local/lib/wireshark/plugins/kdissect.lua",
        ),
    ),
    "completion": (("for this shell", "completion bash"),),
}


def examples_of(prog: str) -> str:
    """Return the examples of `kdissect NAME`, as lines, or no lines for a parser inside a command."""
    examples = _EXAMPLES.get(prog.removeprefix("kdissect "), ())
    if not examples:
        return ""
    lines = "".join(f"  # {what}\n  kdissect {line}\n" for what, line in examples)
    return f"\nexamples:\n{lines}"
