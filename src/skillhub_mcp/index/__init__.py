"""The index over the skills: the LanceDB table and its state, kept in sync with the files.

features       the terms and lengths of a skill, as stored in its row
filter         narrowing a search by category and tags
index_files    which state file and which table belong to a database and an embedder
indexed_roots  the roots that an index has rows of, and which of them may be forgotten
keys           the keys of skills on disk: a root's label and the path below it
lance          LanceDB's asynchronous API on an event loop of our own, and its failures
live           the skills below some roots and their index, kept in sync by a thread
progress       the progress of indexing, for callers that wait
row_block      rows of one table version in memory, as one block
rows           rows as they are written: skills read, analysed and embedded in pieces
schema         the table's columns, its indexes and its rows
search_index   the index of one view, as a search reads it
state_file     `index_state.json`: the commit, and what was read from each SKILL.md
statistics     how many skills have a term, for BM25F
store          LanceDB, writing: new versions, merging, and removing old ones
table          LanceDB, reading: candidates and rows of one version
views          the interface of a provider of skills and their index
watcher        calling back when something below a root changed
writer         the one writer: changed rows, vectors, commit
writer_lock    the locks for writing and for embedding
"""
