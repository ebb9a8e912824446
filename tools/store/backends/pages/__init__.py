"""Where the first pages of volumes are: a directory, a bucket of S3, or drawn for the demo."""
