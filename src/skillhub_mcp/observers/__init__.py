"""Observers of events, and of the library: the audit log, the access log, OpenTelemetry and Prometheus.

audit           one line for each load, read and run
logs            log lines: each request, that a server is ready, and what is new about its library
metrics         the table of metrics, and the samples of an event
open_telemetry  spans and metrics through OpenTelemetry
prometheus      metrics for `/metrics`
"""
