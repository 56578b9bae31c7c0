"""FastMCP middleware: what happens around every request.

agreements       what users agreed to, for all worker processes
argument_errors  messages for invalid arguments, from the tool's schema
consent          asking the client's user where the rules need agreement
deferred_start   starting the hub after the client has its list of tools
error_handling   errors as MCP results or JSON-RPC errors
hooks            the user's hooks around tool calls
instructions     the instructions that a client gets when it connects
nul_arguments    refusing NUL characters in arguments
request_events   an event for each request, for the observers
server_info      title, icon and website of the server
sessions         the session of each call
trust_question   asking the client's user whether they trust the project
"""
