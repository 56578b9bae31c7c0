"""The Streamable HTTP transport.

app            the ASGI app: `/mcp`, `/`, `/healthz`, `/readyz`, `/metrics`
auth           checking bearer tokens and JSON Web Tokens
front_page     what a person is told at `/`, and where a request is refused
jwt_form       the form of a JSON Web Token, before its signature is looked at
metrics_route  the `/metrics` endpoint
rate_limit     limits on requests, wrong tokens and bytes
shutdown       ending open streams when the server stops
workers        several processes at one address
"""
