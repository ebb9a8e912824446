"""Amazon Bedrock: embeddings from a model that somebody else runs."""
