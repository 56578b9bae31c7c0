"""FastMCP middleware: what happens around every request, whatever it asks for."""
