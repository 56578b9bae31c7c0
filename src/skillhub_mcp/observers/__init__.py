"""Observers of events, and of the library: the audit log, the access log, OpenTelemetry and Prometheus.

audit           one line for each load, read and run
logs            log lines: each request, and what is new about the library
metrics         the table of metrics, and the samples of an event
open_telemetry  spans and metrics through OpenTelemetry
prometheus      metrics for `/metrics`
"""
