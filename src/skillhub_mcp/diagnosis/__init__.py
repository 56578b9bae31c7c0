"""What `skillhub doctor` checks. Changes nothing.

To add a check, write a function from `Installation` to `CheckResult` and add it to `CHECKS` in `examination`.

examination        the checks, in order, and running them
installation       what a check receives and returns
installed_command  the distribution that the `skillhub-mcp` command on PATH belongs to
library            checks of roots, skills, trust, rules, locks, the audit and the index
machine            checks of settings, the command on PATH, clients, files and the sandbox
"""
