"""The commands that run without the app. Data goes to stdout, remarks to stderr."""
