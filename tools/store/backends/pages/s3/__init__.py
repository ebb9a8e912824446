"""Pages in a bucket of S3."""
