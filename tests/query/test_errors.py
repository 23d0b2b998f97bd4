"""What is wrong with a filter, where, and what to write instead.

`python -m tests.regenerate filters` writes errors.txt anew.
"""

import os
import pickle
from pathlib import Path

import pytest

from kdissect.model.limits import DEFAULT_LIMITS
from kdissect.query import FilterError, compile_filter
from kdissect.query.fields.lookup import _HABITS

GOLDEN = Path(__file__).parent / "errors.txt"

WRONG = r"""
latncy > 50ms
api == Produce and latncy > 50ms
throttle_time_ms > 0
request.topics.nmae == orders
request.foo
api == Fetch and response.responses.partition_responses.error_code
api in (Heartbeat, SyncGroup) and request.topics
api == Heartbeat and request.topics.partitions.fetch_offset == 1
api == Heartbeat and request.include_authorized_operations
api == Heartbeat and response.responses.partitions.partition_index == 1
request.zzz and api in (Produce, Fetch, Metadata, Heartbeat, SyncGroup)
response.entries.values.value > much
Latency > 1ms
kafka.topic_name == x
foo.bar == 1
request.topics.name_decoded.x == 1
request.**.metadata_decoded.** == 1
request..x
**.error_code
5 == 5
api == Prodce
api in (Produce, Ftch)
state == complet
response.**.error_code == NOT_LEADER
error == NOPE_NOPE_NOPE
anomaly == malformed_boddy
kind == xyz
latency > 50
latency > 50 ms
latency > 50mx
latency > fast
response.bytes > 10KX
time > yesterday
time > 2026-02-30T10:00:00Z
client in 10.0.0.0/40
client == broker1
client == 10.0.0.1:99999
api_version > 1.5
api_version in (7..3)
latency in (2ms..3)
response.topics.topic_id == abc
request.allow_auto_topic_creation == maybe
request.transactional_id == 3 and request.acks > many
topic > a
state < complete
request == x
request.topics > 3
request.topics contains x
latency ~ fast
request.allow_auto_topic_creation in (true)
count(topics)
count(topics) > many
count(latncy) > 1
error and all(latncy) == 1
all(topic)
count(topics
any()
any(topic == x)
client_id in (null)
client_id > null
topic ~ "("
topic ~ "(a+)+"
topic ~ "(aa|b)*"
topic ~ "(.)\1"
topic ~ "a.*b.*c.*d.*e"
topic ~ "a?a?a?a?a?a?a?a?a?a?a?"
has
has findings
has finding XYZ999
api = Produce
api =~ Prod
api eq Produce
api === Produce
api is Produce
api == Produce Fetch
api == Produce, error
api Produce
api ==
== Produce
and
api == Produce and
api == Produce or or error
not
(api == Produce
api == Produce)
((api == Produce) and (error)
api in ()
api in (Produce Fetch)
api in (Produce,
api in
topic not contains x
topic == "orders
topic == orders{1}
topic == ünï
error & latency > 1ms
topic == "日本" and latncy
"topic" == orders
""".splitlines()[1:]


def rendered(text: str) -> str:
    with pytest.raises(FilterError) as caught:
        compile_filter(text)
    return caught.value.render()


def test_every_error_as_it_was() -> None:
    found = "\n\n".join(rendered(text) for text in WRONG) + "\n"
    if os.environ.get("KDISSECT_UPDATE"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("text", WRONG)
def test_the_caret_stands_below_the_place(text: str) -> None:
    with pytest.raises(FilterError) as caught:
        compile_filter(text)
    error = caught.value
    assert 0 <= error.start <= len(text)
    assert error.column == error.start + 1
    message, line, carets = error.render().splitlines()
    assert message.startswith(f"column {error.column}: ")
    assert line == f"  {text}"
    if text.isascii():
        assert carets.index("^") == 2 + error.start


def test_empty() -> None:
    assert "the filter is empty" in rendered("")
    assert "the filter is empty" in rendered("   ")


LONGEST, DEEPEST = DEFAULT_LIMITS.filter_characters, DEFAULT_LIMITS.filter_depth
LONGEST_PATTERN = DEFAULT_LIMITS.pattern_characters


def test_limits() -> None:
    assert f"at most {LONGEST} characters" in rendered("a" * (LONGEST + 1))
    assert f"deeper than {DEEPEST}" in rendered("(" * (DEEPEST + 1) + "error" + ")" * (DEEPEST + 1))
    assert f"deeper than {DEEPEST}" in rendered("not " * (DEEPEST + 1) + "error")
    assert f"at most {LONGEST_PATTERN} characters" in rendered(f'topic ~ "{"a" * (LONGEST_PATTERN + 1)}"')
    compile_filter("(" * (DEEPEST - 1) + "error" + ")" * (DEEPEST - 1))
    before = "error and (topic or not closed) and "  # what is over is not counted
    compile_filter(before + "(" * (DEEPEST - 1) + "error" + ")" * (DEEPEST - 1))
    assert f"deeper than {DEEPEST}" in rendered(before + "(" * DEEPEST + "error" + ")" * DEEPEST)
    assert "no field name" in rendered("request" + ".**" * 1000)
    assert "no whole number" in rendered(f"api_version == {'9' * 5000}")


def test_names_and_numbers_of_any_length() -> None:
    """docs/limits.md."""
    assert "no API has" in rendered("request" + ".x" * 15)
    assert "no field name" in rendered("request" + ".x" * 16)
    compile_filter(f"api_version == {'9' * 40}")
    assert "no whole number" in rendered(f"api_version == {'9' * 41}")


def test_a_long_filter_shows_the_part_that_matters() -> None:
    text = "error and " * 100 + "latncy" + " and error" * 100
    _, line, carets = rendered(text).splitlines()
    assert len(line) == 100 + 2
    assert line[carets.index("^") :].startswith("latncy")


def test_nothing_moves_the_cursor() -> None:
    text = rendered('topic == "a\x1b[31m\tb\u202e" and latncy')
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_errors_can_be_pickled() -> None:
    with pytest.raises(FilterError) as caught:
        compile_filter("latncy")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.render() == caught.value.render()


def test_what_is_suggested_exists() -> None:
    for meant in _HABITS.values():
        compile_filter(meant)
