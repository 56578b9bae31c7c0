"""Observers of events, and of the library: the audit log, the access log, OpenTelemetry and Prometheus.

access_log      one log line for each request
audit           one line for each load, read and run
library_log     what a server refuses, what lost its name, missing directories and skills elsewhere, each once
metrics         the table of metrics, and the samples of an event
open_telemetry  spans and metrics through OpenTelemetry
prometheus      metrics for `/metrics`
start_log       that a server is ready, with how many skills, where, and of how many tokens
"""
