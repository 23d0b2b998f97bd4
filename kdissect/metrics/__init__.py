"""Prometheus metrics of the analysed traffic, for scrapers that ask by HTTP (docs/metrics.md).

Counting (`traffic_counts`) needs no library. `prometheus_client`, the official client, is imported when the
user asks for the metrics (`server`): it writes the exposition format and serves it.
"""
