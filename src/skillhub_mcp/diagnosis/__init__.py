"""What `skillhub doctor` checks. Changes nothing.

To add a check, write a function from `Installation` to `CheckResult` and add it to `CHECKS` in `checks`.

checks             the checks, their order, and running them
installation       what a check receives and returns
installed_command  the distribution that the `skillhub-mcp` command on PATH belongs to
"""
