"""Pages and covers drawn for the demo: by formula, the same each time for the same title and volume.

What is drawn is nobody's manga: panels, tones, balloons without words, on a sheet with the printer's marks of a draft.
"""
