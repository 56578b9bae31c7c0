"""Running commands: the allow list, processes within limits, their sandbox, and the user's hooks.

command_policy  which program a call may run, with which arguments and packages (PEP 723)
hooks           the user's commands before and after tool calls
outputs         where a command may write
program         a program that the hub itself needs, bounded, and ending a process group
runner          one process within limits of time and output
sandbox         what a running program may read, write and reach, and needs of the system: bubblewrap
skill_command   one command of a skill: what it may touch, which packages it needs, where it writes
"""
