"""The Streamable HTTP transport.

app            the ASGI app: `/mcp`, `/healthz`, `/readyz`, `/metrics`
auth           checking bearer tokens and JSON Web Tokens
leniency       requests that other servers accept and the SDK refuses
pages          the pages `/readyz` and `/metrics`, and legible refusals
rate_limit     limits on requests and wrong tokens
shutdown       ending open streams when the server stops
well_known     the skills for installing elsewhere, below `/.well-known/agent-skills`
workers        several processes at one address
"""
