"""The index over the skills: the LanceDB table and its state, kept in sync with the files.

changes  what a sync has to write: a scan against what was committed
checksums     whether a file of the table has changed since it was written
connection  LanceDB's asynchronous API on an event loop of our own, and its failures
cut_texts     texts cut at blanks, for counting many at once
damage        what may be damaged, part by part, and what mending each takes
entry_columns  what each start needs of all skills, as columns beside the lines that say it
features      the terms and lengths of a skill, as stored in its row
filter        narrowing a search by category and tags, and conditions for LanceDB
identity      whose an index is: the state file and the table of a database and an embedder
impacts       what an occurrence of a term is worth to a skill
index_files  which state file and which table belong to a database and an embedder
indexed_roots  the roots that an index has rows of, and which of them may be forgotten
indexer       the one writer: changed rows, embeddings, commit
kept_vectors  the vectors of texts that are the same, where rows are written anew
keyed_rows    rows of the schema before keys, with theirs
keys          the keys of skills on disk: a root's label and the path below it
lance         LanceDB, reading: one finished version of the table
lance_import  importing LanceDB, but for what serves its REST service and its authors
lance_store   LanceDB, writing: new versions of the table
live  the skills below some roots and their index, kept in sync by a thread
maintenance   what is damaged in an index, and which roots it has
mapped_arrays  arrays in a file that may be larger than memory
missing_vectors  which skills lack the vector of their text, and which were made since
moved_roots   roots that are somewhere else now
nearness_scale  what a cosine means with one model, measured on the library's own descriptions
own_names     what is an index's own in the directory of its database, and what of it others may read
progress      the progress of indexing, for callers that wait
root_states   what a state says of each root, and what it says next
root_statistics  the statistics of each root's skills, beside the table
row_batches  rows as they are written: skills read, analysed and embedded in pieces
row_block  rows of one table version in memory, as one block
row_embedder  vectors from the embedder, in batches, with a pause after a failure
row_keys      what the keys of rows mean, by the published state
row_source    rows as they are written: read and embedded when their turn comes
rows          what is written for a skill, and read back
schema  the table's columns, its indexes and its rows
search_index  the index of one view, as a search reads it
segment       skills inverted, in a file beside the table
segment_files  the segments of a table's versions
skill_index   one version of the index, as a search reads it
state         `index_state.json`: the published version, and how much of the file of entries counts
state_entries  what was read from each SKILL.md, a line each, in a file that is appended to
state_file  `index_state.json`: the commit, and what was read from each SKILL.md
statistics    how many skills have a term, for BM25F
store  LanceDB, writing: new versions, merging, and removing old ones
stored_arrays  arrays in a file beside the table, read at no more cost than its size
table  LanceDB, reading: candidates and rows of one version
unused_indexes  the indexes of a database that nobody has opened for a month
versions      which versions of the table nobody reads any more
views  what the hub asks for the skills and their index, whoever provides them
watcher       calling back when something below a root changed
writer  the one writer: changed rows, vectors, commit
writer_lock   who writes an index now, and who embeds for it
"""
