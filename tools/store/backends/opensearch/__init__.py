"""The catalogue in OpenSearch: on nodes of one's own or AWS's, or Serverless. The driver is imported in this folder only."""
