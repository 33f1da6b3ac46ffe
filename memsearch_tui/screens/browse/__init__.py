"""The home screen: controllers that share one state."""
