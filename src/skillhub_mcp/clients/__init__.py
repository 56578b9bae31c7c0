"""The programs that SkillHub's server is registered with, such as Cursor, and our entry in their files.

backups              copies of clients' files from before they were changed
bundle               this installation as one `.mcpb` file, which hosts install with one click
connection_problems  what is wrong with connections, from what files say and servers answered
connections          what connects a client or disconnects it, planned and then carried out
editing              one entry put into a file's text or taken out, and the rest as it was
entries              a server as an entry of a client's file, and back
files                reading a client's file, and writing it with its links, mode and owner kept
installed            which clients are on this machine, and how one knows
links                links that a client opens to add a server
machine              the system, environment, home and project that places of files depend on
model                what is known about one client
originals            what was there before a change, to give it back
ownership            whether an entry starts SkillHub, and what a person added to it
probe                starting a connection as its client would
registered           what clients' files say about SkillHub, also where no client looks
secrets              values that look like secrets
snippets             an entry as a whole file, to show and to paste
splice               one value put into a JSON or TOML text or taken out, and the rest as it was
table                the clients, one row each
trust                whether a connection may be started to see if it answers
wheel                the wheel of this installation, from the files that it runs from
"""
