"""The headless commands, by what people do: recall, notes, index, capture, setup. stdout is data,
stderr is talk.
"""
