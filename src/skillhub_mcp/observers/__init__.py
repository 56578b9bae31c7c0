"""Who keeps account of what happens: the audit, the log of requests, OpenTelemetry and Prometheus."""
