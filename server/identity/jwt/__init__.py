"""JWTs of a trusted issuer, and the issuer's keys."""
