"""Observers of events: the audit log, the access log, OpenTelemetry and Prometheus.

access_log      one log line for each request
audit           one line for each load, read and run
metrics         the table of metrics, and the samples of an event
open_telemetry  spans and metrics through OpenTelemetry
prometheus      metrics for `/metrics`
"""
