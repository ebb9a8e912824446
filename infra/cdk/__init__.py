"""Deployment on AWS as CDK code. `config` defines a stage's settings, `stages` has their values, `stacks` the units of
deployment, and `constructs` the parts of stacks."""
