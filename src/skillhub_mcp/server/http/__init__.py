"""The Streamable HTTP transport.

app            the ASGI app: `/mcp`, `/`, `/healthz`, `/readyz`, `/metrics`, `/skills`
auth           checking bearer tokens and JSON Web Tokens
front_page     what `/` says to a person, and where a request is refused
leniency       requests that other servers accept and the SDK refuses
pages          the pages `/readyz`, `/metrics` and `/skills`
rate_limit     limits on requests and wrong tokens
shutdown       ending open streams when the server stops
well_known     the skills for installing elsewhere, below `/.well-known/agent-skills`
workers        several processes at one address
"""
