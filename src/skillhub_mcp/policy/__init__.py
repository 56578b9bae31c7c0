"""Permissions: which skills are served, and who may load, read or run them.

access         the policy of the current caller, and what an excluded skill answers
access_tokens  tokens of HTTP callers, each with a filter
choices        skills that a person switched off or on
files          files of rules, choices, tokens and reviews, read again after a change
gate           what stands before each use of a skill besides the policy: hooks
decision_source  file of the rule or choice that decides about a skill
project_trust  whether what a project brings is what its person agreed to
recorded_roots  the roots that a person recorded
reviews        findings of the audit that a person accepted
rules          rules that allow, deny or require confirmation, and what a change of them changes
tool_actions   what each tool does with a skill: load, read or run
trust          the record of what a person agreed to, and what becomes of the rest
unknown_names  names in rules and filters that no skill has, with the nearest
visibility     the filter of a server or a token
"""
