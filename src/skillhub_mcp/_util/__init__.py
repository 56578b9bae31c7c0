"""Utilities without any knowledge of skills.

atomic_write   replacing a file in one step
file_modes     who else may write a file
json_lines     log files that several processes append to
lru            a mapping of bounded size
safe_json      JSON from other programs, read within bounds or refused with a reason
safe_toml      TOML from other programs, read within bounds or refused with a reason
tempdir        directories for a moment
wording        counts in sentences
zip_archive    archives with the same bytes everywhere
"""
