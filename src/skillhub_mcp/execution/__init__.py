"""Running commands: the allow list, processes within limits, their sandbox, and the user's hooks.

command_policy   which program a call may run, with which arguments
hooks            the user's commands before and after tool calls
outputs          where a command may write
processes        ending a process with everything that it started
program          a program that the hub itself needs, over its pipes, watched and ended with its children
removal          removing a directory however deep it is
runner           one process within limits of time and output
sandbox          what a running program may read, write and reach: bubblewrap
script_packages  the packages that a script declares (PEP 723)
skill_command    one command of a skill: what it may touch, which packages it needs, where it writes
system_files     the files of the system that a program needs in order to start
"""
