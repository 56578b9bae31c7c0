"""Publication of skills to hosts that read them natively: entries, digests and bytes (SEP-2640). No protocol code."""
