"""Access to skills: rules that allow, deny or ask, and what a person switched on and off."""
