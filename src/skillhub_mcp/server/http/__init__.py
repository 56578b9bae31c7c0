"""The Streamable HTTP transport.

app            the ASGI app: `/mcp`, `/`, `/healthz`, `/readyz`, `/metrics`, `/skills`
auth           checking bearer tokens and JSON Web Tokens
front_page     what a person is told at `/`, and where a request is refused
jwt_form       the form of a JSON Web Token, before its signature is looked at
leniency       requests that other servers accept and the SDK refuses
metrics_route  the `/metrics` endpoint
rate_limit     limits on requests and wrong tokens
readiness      whether searches can be answered, at `/readyz`
shutdown       ending open streams when the server stops
skills_page    how the caller's skills stand against their locks, at `/skills`
well_known     the skills for installing elsewhere, below `/.well-known/agent-skills`
workers        several processes at one address
"""
