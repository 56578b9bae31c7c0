"""Skills as MCP resources, and notifications of changes.

extension      the skills extension (SEP-2640)
list_changed   notifications that the skills changed
provider       plain `skill://` resources
subscriptions  notifications that a file changed
"""
