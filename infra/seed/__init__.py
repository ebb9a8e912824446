"""`python -m infra.seed`: loads files into OpenSearch and DynamoDB, at the addresses in the settings."""
