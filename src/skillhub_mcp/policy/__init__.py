"""Permissions: which skills are served, and who may load, read or run them.

access          the policy of the current caller, and the errors for excluded skills
access_tokens   tokens of HTTP callers, each with a filter
choices         skills that the user switched off or on
files           the files of rules, choices, tokens and reviews, read again after a change
hook_gate       the check before each use of a skill besides the policy: hooks
project_trust   whether the files of a project are those that were trusted
recorded_roots  the roots that the user recorded
reviews         accepted findings of the audit
rules           rules that allow, deny or require confirmation, and the effects of changing them
tool_actions    what each tool does with a skill: load, read or run
trust           the record of trusted projects, and how others are treated
unknown_names   names in rules and filters that no skill has, with suggestions
visibility      the filter of a server or a token
"""
