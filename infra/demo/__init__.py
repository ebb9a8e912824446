"""The demo store: a catalogue of real titles, and sample offers, stock and orders generated from it."""
