"""The programs that SkillHub's server is registered with, such as Cursor, and our entry in their files.

archive   ZIP archives whose bytes do not depend on when and where they are made
bundle    this installation as one `.mcpb` file, which hosts install with one click
entries   a server as an entry of a client's file, and back
links     links that a client opens to add a server
machine   the system, environment, home and project that places of files depend on
model     what is known about one client
snippets  an entry as a whole file, to show and to paste
table     the clients, one row each
wheel     the wheel of this installation, from the files that it runs from
"""
