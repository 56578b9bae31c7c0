"""Who may load what? Rules that allow, deny or ask (seed 000 §8), and what a person switched on and off."""
