"""The checks of `skillhub doctor`, one module each, which `all_checks` runs side by side.

To add one, write a module with a function from `Installation` to `CheckResult` and a `CHECK`, and add that to `CHECKS`
in `all_checks`.

all_checks    the list of checks, and running them: each in a thread of its own, each failing alone
audit         what the audit finds in the skills that are served
check         what a check is and what it returns: problems, warnings and notes
clients       the clients that SkillHub is registered with, each started as it would
command       the distribution that the `skillhub-mcp` command on PATH belongs to
files         the person's own files that somebody else may write or read
index         the index: damage, failed updates, embeddings that are missing
installation  what checks look at: the settings, the hub, and its library, read once for all of them
locks         skills that are not as they were locked, and locks that cannot be read
models        the models of the person's own: what was recognised of each, and whether it answers in time
published     how each skill is published to hosts that read skills natively
roots         the directories that are searched for skills
rules         what rules, filters and tokens do, and the names in them that nothing has
sandbox       how commands of skills are confined here
settings      settings whose value is not used
skills        the skills that are refused, and those that lost their name
trust         what awaits trust in the project
"""
