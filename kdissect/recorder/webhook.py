"""A webhook: where a message about an incident goes, and in which form.

Forms: plain JSON, Slack (incoming webhooks), Teams (an Adaptive Card of a workflow) and PagerDuty (Events API
v2).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from kdissect.model.digest import blake2b
from kdissect.model.version import __version__

Message = dict[str, Any]
JSON, SLACK, TEAMS, PAGERDUTY = "json", "slack", "teams", "pagerduty"
KINDS = (JSON, SLACK, TEAMS, PAGERDUTY)
_PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue"
# Severities of events, by those of causes and findings.
_SEVERITIES = {"stops": "critical", "data": "error", "delays": "warning", "wastes": "info", "error": "error"}
_MAX_SECRET = 4096
TIMEOUT_S = 30.0
_FILE, _ENVIRONMENT = "@", "env:"


class Webhook(NamedTuple):
    """A receiver of messages. `key` is the routing key of PagerDuty, empty for others.

    `name` is for people: it has only the host of the URL, since the path often is a token.
    """

    kind: str
    url: str
    key: str
    name: str

    @property
    def identity(self) -> str:
        """A text that distinguishes receivers, without their secrets."""
        return blake2b(f"{self.kind}={self.url} {self.key}".encode(), digest_size=8).hexdigest()

    def send(self, message: Message, signing_key: str) -> None:
        """Send a message. Raises HttpFailureError."""
        from urllib.request import Request  # memory: of recorders with webhooks

        from kdissect.serdes.http_exchange import exchange

        body = json.dumps(self.body(message), ensure_ascii=True).encode()
        headers = {"Content-Type": "application/json", "User-Agent": f"kdissect/{__version__}"}
        headers["Idempotency-Key"] = message["id"]
        if signing_key:
            stamp = str(int(time.time()))
            headers["X-Kdissect-Timestamp"] = stamp
            headers["X-Kdissect-Signature"] = f"sha256={signature(signing_key, stamp, body)}"
        exchange(Request(self.url, body, headers, method="POST"), TIMEOUT_S)

    def body(self, message: Message) -> Message:
        """Return a message in the form of the receiver."""
        if self.kind == SLACK:
            return {"text": message["text"]}
        if self.kind == TEAMS:
            block = {"type": "TextBlock", "text": message["text"], "wrap": True}
            card = {"type": "AdaptiveCard", "version": "1.4", "body": [block]}
            kind = "application/vnd.microsoft.card.adaptive"
            return {"type": "message", "attachments": [{"contentType": kind, "content": card}]}
        if self.kind == PAGERDUTY:
            return {
                "routing_key": self.key,
                "event_action": "trigger",
                "dedup_key": message["id"],
                "payload": {
                    "summary": message["text"][:1024],  # the most that the API takes
                    "source": message["host"],
                    "severity": _SEVERITIES.get(message["level"], "warning"),
                    "timestamp": message["opened"],
                    "custom_details": message["incident"],
                },
            }
        return message


def signature(key: str, stamp: str, body: bytes) -> str:
    """Return HMAC-SHA256 of `TIMESTAMP.BODY` in hex."""
    import hashlib  # the library of TLS, 3.4 MB: few recorders need it
    import hmac

    return hmac.new(key.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def parse_webhook(text: str) -> Webhook:
    """Return the webhook of `[KIND=]URL`, or of `pagerduty=KEY`. Raises ValueError, for a file OSError."""
    kind, equals, value = text.partition("=")
    if not equals or kind not in KINDS:
        kind, value = JSON, text
    if value.startswith((_FILE, _ENVIRONMENT)):
        value = read_secret(value)
    key = ""
    if kind == PAGERDUTY and "://" not in value:
        key, value = value, _PAGERDUTY_URL
        if not key:
            raise ValueError("pagerduty=KEY needs the routing key of an Events API v2 integration")
    from kdissect.serdes.http_exchange import checked_url  # memory: of recorders with webhooks

    parts = checked_url(value, "a webhook")
    return Webhook(kind, value, key, f"{kind} {parts.scheme}://{parts.hostname}")


def read_secret(text: str) -> str:
    """Return the content of `@FILE` or of the variable of `env:NAME`. Raises ValueError and OSError."""
    if text.startswith(_FILE):
        found = Path(text.removeprefix(_FILE)).read_text(encoding="utf-8")[:_MAX_SECRET].strip()
    elif text.startswith(_ENVIRONMENT):
        found = os.environ.get(text.removeprefix(_ENVIRONMENT), "").strip()
    else:
        raise ValueError("a secret is read from @FILE or env:NAME, so that no list of processes shows it")
    if not found:
        raise ValueError(f"{text}: there is no secret")
    return found
