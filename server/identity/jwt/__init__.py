"""Tokens that an issuer has signed, and the keys they are signed with."""
