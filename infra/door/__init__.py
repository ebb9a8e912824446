"""The customers' entry points ("door"): two AWS Lambda functions, and a local gateway in place of AWS's services."""
