"""The tool sets. A tool asks the hub and gives its answer wire form; it decides nothing and catches nothing."""
