"""Observers of events: the audit log, the access log, OpenTelemetry and Prometheus."""
