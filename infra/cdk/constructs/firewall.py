"""Web application firewall of the public load balancer: refuses bad addresses, known attacks, floods and large bodies."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_wafv2 as waf
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

MANAGED = (
    ("Addresses", "AWSManagedRulesAmazonIpReputationList", ()),
    # WAF sees only the first 8 KB of a body, and a question may be longer: `_large` limits the size.
    ("Common", "AWSManagedRulesCommonRuleSet", ("SizeRestrictions_BODY",)),
    ("KnownInputs", "AWSManagedRulesKnownBadInputsRuleSet", ()),
)
DIGITS = 5
"""Most digits of a Content-Length: more mean 100 KB or longer. The agent itself limits shorter bodies to 16 KB."""
WINDOW_SECONDS = 300
REDACTED = ("authorization", "cookie")


class Firewall(Construct):
    """Web ACL. Its log keeps refused requests for two weeks, with IP address, without tokens, cookies and queries."""

    def __init__(self, scope: Construct, stage: Stage, keys: Keys, balancer_arn: str) -> None:
        super().__init__(scope, "Firewall")
        listed = [*self._managed(), self._large(), self._flood(stage)]
        acl = waf.CfnWebACL(
            self,
            "Acl",
            name=f"{stage.prefix}-door",
            scope="REGIONAL",
            default_action=waf.CfnWebACL.DefaultActionProperty(allow={}),
            visibility_config=_seen("Door"),
            rules=listed,
        )
        waf.CfnWebACLAssociation(self, "Association", resource_arn=balancer_arn, web_acl_arn=acl.attr_arn)
        self._log(stage, keys, acl)

    def _managed(self) -> list[waf.CfnWebACL.RuleProperty]:
        return [
            waf.CfnWebACL.RuleProperty(
                name=name,
                priority=number,
                override_action=waf.CfnWebACL.OverrideActionProperty(none={}),
                visibility_config=_seen(name),
                statement=waf.CfnWebACL.StatementProperty(
                    managed_rule_group_statement=waf.CfnWebACL.ManagedRuleGroupStatementProperty(
                        vendor_name="AWS",
                        name=group,
                        rule_action_overrides=[
                            waf.CfnWebACL.RuleActionOverrideProperty(
                                name=each, action_to_use=waf.CfnWebACL.RuleActionProperty(count={})
                            )
                            for each in counted
                        ]
                        or None,
                    )
                ),
            )
            for number, (name, group, counted) in enumerate(MANAGED)
        ]

    def _large(self) -> waf.CfnWebACL.RuleProperty:
        return waf.CfnWebACL.RuleProperty(
            name="Large",
            priority=len(MANAGED),
            action=_block(413),
            visibility_config=_seen("Large"),
            statement=waf.CfnWebACL.StatementProperty(
                size_constraint_statement=waf.CfnWebACL.SizeConstraintStatementProperty(
                    field_to_match=waf.CfnWebACL.FieldToMatchProperty(single_header={"Name": "content-length"}),
                    comparison_operator="GT",
                    size=DIGITS,
                    text_transformations=[waf.CfnWebACL.TextTransformationProperty(priority=0, type="NONE")],
                )
            ),
        )

    def _flood(self, stage: Stage) -> waf.CfnWebACL.RuleProperty:
        return waf.CfnWebACL.RuleProperty(
            name="Flood",
            priority=len(MANAGED) + 1,
            action=_block(429),
            visibility_config=_seen("Flood"),
            statement=waf.CfnWebACL.StatementProperty(
                rate_based_statement=waf.CfnWebACL.RateBasedStatementProperty(
                    aggregate_key_type="IP",
                    limit=stage.door.requests_an_address,
                    evaluation_window_sec=WINDOW_SECONDS,
                )
            ),
        )

    def _log(self, stage: Stage, keys: Keys, acl: waf.CfnWebACL) -> None:
        stack = cdk.Stack.of(self)
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"aws-waf-logs-{stage.prefix}-door",  # WAF requires this prefix
            retention=logs.RetentionDays.TWO_WEEKS,
            encryption_key=keys.shop,
            removal_policy=removal(stage),
        )
        cdk.Tags.of(log).add("Contains", "addresses")
        allowed = {"StringEquals": {"aws:SourceAccount": stack.account}}
        statement = iam.PolicyStatement(
            sid="Firewall",
            principals=[iam.ServicePrincipal("delivery.logs.amazonaws.com")],
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            resources=[log.log_group_arn],
            conditions=allowed,
        )
        policy = logs.CfnResourcePolicy(
            self,
            "LogPolicy",
            policy_name=f"{stage.prefix}-door-firewall",
            policy_document=stack.to_json_string({"Version": "2012-10-17", "Statement": [statement.to_statement_json()]}),
        )
        configured = waf.CfnLoggingConfiguration(
            self,
            "Logging",
            resource_arn=acl.attr_arn,
            log_destination_configs=[
                stack.format_arn(
                    service="logs",
                    resource="log-group",
                    resource_name=log.log_group_name,
                    arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
                )
            ],
            redacted_fields=[
                *(waf.CfnLoggingConfiguration.FieldToMatchProperty(single_header={"Name": name}) for name in REDACTED),
                waf.CfnLoggingConfiguration.FieldToMatchProperty(query_string={}),
            ],
            logging_filter={
                "DefaultBehavior": "DROP",
                "Filters": [
                    {
                        "Behavior": "KEEP",
                        "Requirement": "MEETS_ANY",
                        "Conditions": [{"ActionCondition": {"Action": "BLOCK"}}],
                    }
                ],
            },
        )
        configured.add_resource_dependency(policy)


def _seen(name: str) -> waf.CfnWebACL.VisibilityConfigProperty:
    """Returns settings that count matches in a metric, without samples, since samples contain headers."""
    return waf.CfnWebACL.VisibilityConfigProperty(
        cloud_watch_metrics_enabled=True, metric_name=name, sampled_requests_enabled=False
    )


def _block(status: int) -> waf.CfnWebACL.RuleActionProperty:
    return waf.CfnWebACL.RuleActionProperty(
        block=waf.CfnWebACL.BlockActionProperty(custom_response=waf.CfnWebACL.CustomResponseProperty(response_code=status))
    )
