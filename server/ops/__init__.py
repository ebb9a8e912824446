"""/ops: what goes on in this process, for the people who run it, as one page and a stream of events.

It hears of calls only while somebody looks. Nothing personal is on it: of a turn, a session and a customer it shows hashes,
under a key that ends with the process, and of queries and orders nothing."""
