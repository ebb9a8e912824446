"""Records of titles, stock, releases, orders and long-term profiles in DynamoDB. `tables` defines the tables, `store` opens
them."""
