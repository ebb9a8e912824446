"""Sources of the first pages of volumes: a directory, a bucket of S3, or drawings of the demo."""
