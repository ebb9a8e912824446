"""What runs on AWS, as code. `config` says what differs between the stages, `stacks` what is deployed together, `constructs`
one concern each."""
