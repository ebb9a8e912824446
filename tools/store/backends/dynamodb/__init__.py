"""Records of titles, stock, releases, orders and long-term profiles in DynamoDB. `tables` defines what is there, `store`
opens it."""
