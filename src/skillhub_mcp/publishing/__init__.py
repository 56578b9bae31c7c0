"""What do hosts get that read skills natively? Entries, digests and exact bytes (SEP-2640); knows no protocol."""
