"""Widgets that draw line by line: only visible lines are rendered, however many rows there are."""
