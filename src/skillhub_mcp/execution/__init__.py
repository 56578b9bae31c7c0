"""Running commands: the allow list, processes within limits, their sandbox, and the user's hooks.

command_policy       which program a call may run, with which arguments
hooks                the user's commands before and after tool calls
outputs              where a command may write
process_tree         what a process and all its descendants use at one moment
program              a program that the hub itself needs, over its pipes, watched and ended with its children
runner               one process within limits of time and output, ended with all its children
sandbox/             what a running program may read, write, reach and use up
script_environments  the packages of scripts, fetched in a step of their own and kept
script_packages      what a script declares that it needs (PEP 723)
skill_command        one command of a skill: what it needs first, what it may touch, where it writes
"""
