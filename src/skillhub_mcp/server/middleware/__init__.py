"""FastMCP middleware: what happens around every request.

client_project   the project that a stdio client names
consent          asking the client's user for agreement, and whether they trust the project
hooks            the user's hooks around tool calls
instructions     a client's first requests: the instructions, the title, the start of the hub
request_events   an event for each request, for the observers
sessions         the session of each call
"""
