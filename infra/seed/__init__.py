"""`python -m infra.seed`: fills OpenSearch and DynamoDB, at the addresses of the settings, from files."""
