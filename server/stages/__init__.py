"""The stages of the pipeline, one per file, in the order of `server/pipeline.py`."""
