"""Deployment on AWS as CDK code. `config` has the differences between stages, `stacks` the units of deployment, `constructs`
one concern each."""
