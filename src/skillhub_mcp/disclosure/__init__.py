"""What models are shown of the skills: catalogues, the card, bodies in parts, and estimates of tokens."""
