"""Accepts findings of cdk-nag, each at its resource and with a reason."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accepts a finding of `rule` at this resource and at the resources inside it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
