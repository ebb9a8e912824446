"""Demo store: a catalogue of real titles, with sample offers, stock and orders that are generated for them."""
