"""The app's screens: ``browse`` is the home screen, the others open over it."""
