"""Sources of the preview pages of volumes: a directory, a bucket of S3, or the demo's drawings."""
