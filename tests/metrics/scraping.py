"""Scrapes with a token, as Prometheus does."""

from __future__ import annotations

import re
import urllib.request
from urllib.error import HTTPError


def scraped(url: str, token: str | None) -> tuple[int, str]:
    """Status and text; a token of None sends no Authorization."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def scrape(url: str, token: str, until: str) -> str:
    """Return the text, as soon as a line is there that matches: reading and scraping run side by side."""
    for _ in range(10_000):
        _, text = scraped(url, token)
        if re.search(until, text, re.MULTILINE):
            return text
    raise AssertionError(text)
