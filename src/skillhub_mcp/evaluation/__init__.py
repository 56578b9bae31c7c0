"""How good is search? Queries with the skills that answer them, engines that are compared, and what it comes to."""
