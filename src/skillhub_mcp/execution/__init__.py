"""Running commands: the allow list, processes within limits, their sandbox, and the user's hooks.

command_policy  which program a call may run, with which arguments
hooks           the user's commands before and after tool calls
process_tree    what a process and all its descendants use at one moment
runner          one process within limits of time and output, ended with all its children
sandbox/        what a running program may read, write, reach and use up
"""
