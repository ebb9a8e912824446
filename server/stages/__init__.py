"""The stages of the pipeline, one a file, in the order of `server/pipeline.py`."""
