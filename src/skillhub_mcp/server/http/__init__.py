"""The Streamable HTTP transport: the ASGI app, authentication, rate limits, metrics, shutdown and worker processes."""
