"""The catalogue in OpenSearch: self-managed or AWS nodes, or Serverless. Only this package imports the driver."""
