"""Validation of skills. Independent of hubs, indexes and MCP.

advice         checks beyond the specification
apply_fixes    writing a fixed SKILL.md
checker        the check of one skill, its findings and token counts
fixes          fixes that need no guess
moved_keys     descriptive keys under `metadata`
sarif          findings as SARIF 2.1.0
selection      choosing rules by their ids
targets        which skills a command checks
"""
