"""What is shown, and what does it cost? Bodies in parts, and the price of a text in tokens."""
