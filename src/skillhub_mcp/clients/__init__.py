"""The programs that use SkillHub's server, such as Cursor, and our entry in their files.

backups              records of changed files, to restore them
bundle               this installation as one `.mcpb` file, with a wheel in it
connection_problems  what is wrong with connections, and which may be started
connections          connecting and disconnecting, planned and then carried out
editing              our entry put into a file's text or removed, or a whole file
entries              a server as an entry or a link, and back
files                reading and replacing a client's file
machine              what the places of files depend on
model                the description of a client
ownership            whether an entry starts SkillHub
probe                starting a connection as its client would
registered           the entries for SkillHub in all clients' files
secrets              values that look like secrets
splice               one value put into a JSON or TOML text or removed
table                the clients, one row each
"""
