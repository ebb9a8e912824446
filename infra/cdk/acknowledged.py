from __future__ import annotations

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, rule: str, reason: str) -> None:
    """Accepts cdk-nag's findings of `rule` at this construct and at the constructs inside it."""
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
