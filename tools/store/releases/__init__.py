"""What comes out when: made of the catalogue and its volumes, and kept for a while as tools read it."""
