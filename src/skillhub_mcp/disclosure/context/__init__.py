"""What does seed 000 show of the skills? Its catalogue, its search and its way of loading, over the hub's own scan."""
