"""Skills as MCP resources, and notifications of changes.

extension      the skills extension (SEP-2640)
notifications  notifications of changed lists and files
provider       plain `skill://` resources
"""
