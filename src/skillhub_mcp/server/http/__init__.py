"""The Streamable HTTP transport.

acceptor       accepting connections, also where no descriptor is left
app            the ASGI app: `/mcp`, `/`, `/healthz`, `/readyz`, `/metrics`, `/skills`
auth           checking bearer tokens and JSON Web Tokens
connections    how many connections there may be, and how long one may take
front_page     what a person is told at `/`, and where a request is refused
joined_writes  the head of an answer written together with its body
jwt_form       the form of a JSON Web Token, before its signature is looked at
metrics_route  the `/metrics` endpoint
rate_limit     limits on requests and wrong tokens
readiness      whether searches can be answered, at `/readyz`
request_body   reading the bodies of requests, within limits
resumption     requests to take up a broken stream
session_limit  limits on the sessions of the 2025-11-25 protocol
shutdown       ending open streams when the server stops
skills_page    how the caller's skills stand against their locks, at `/skills`
well_known     the skills for installing elsewhere, below `/.well-known/agent-skills`
workers        several processes at one address
"""
