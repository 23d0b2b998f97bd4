"""Metrics of the analysed traffic, for Prometheus and collectors of OpenTelemetry (docs/metrics.md).

Counting (`meter`) needs no library. `prometheus_client` (`server`) and the OpenTelemetry SDK (`otlp_metrics`)
are imported when the user asks for their form.
"""
