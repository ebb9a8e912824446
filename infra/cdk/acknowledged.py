"""Findings of cdk-nag that stay, each at its resource and with its reason."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accepts a finding of `rule` at this resource and inside of it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
