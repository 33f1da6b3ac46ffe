"""The coding agents themselves: which are on this machine, and installing our plugins into them."""
