"""The sandbox of commands: what a running program may read, write, reach and use up.

bubblewrap    the arguments of `bwrap`, which shows a program no more than it may use
choice        which tier this machine can keep, tried once at the start
confine       the program that confines itself, starts the command, and ends with it; runs by its path, without SkillHub
landlock      what a program may touch where only allowing is possible, and what else has to be refused
launch        one confined command: its arguments, environment, descriptors and private directory
model         the values: tiers, confinements, limits on resources, and what is started
places        the files of the system that a program needs in order to start
seccomp       the filter of system calls, as the kernel reads it
"""
