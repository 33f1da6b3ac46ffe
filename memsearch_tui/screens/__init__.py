"""What fills the screen: ``browse`` is home, ``text`` shows help and health."""
