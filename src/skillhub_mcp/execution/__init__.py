"""Running commands: the allow list, processes within limits, and the user's hooks.

command_policy  which program a call may run, with which arguments
hooks           the user's commands before and after tool calls
runner          one process within limits of time and output, ended with all its children
"""
