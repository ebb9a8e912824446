"""The tools of the store, one module each; `contract` defines a tool, `registry` lists them. Packages hold what tools share:
the store, schemas, results, conditions, recommending."""
