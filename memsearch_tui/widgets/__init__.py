"""Widgets that draw line by line: only what is seen is rendered, whatever the number of rows."""
