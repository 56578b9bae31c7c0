"""A change of a root: staged, synced, exchanged, and committed by the lock; or taken back.

disk         the steps of a change on the disk, each done or not
exchange     two paths exchanged in one step, by the system's own call
fingerprint  what lies in a directory: its digest, and every difference
journal      what a change does, written before it is done
locking      one command at a time changes a root
own_places   where the hub's own things in a root are
recovery     what a killed command left, completed or taken back
refusals     what a person is told where a root cannot be written
steps        each step of a change: doing it, and taking it back
transaction  a change of a root: all skills, or none
trash        what was removed and replaced, and how much of it is kept
"""
