"""SNS topics for pages and tickets, and the account's budget, which notifies the topic of tickets."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_budgets as budgets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys

TELLERS = ("cloudwatch.amazonaws.com", "budgets.amazonaws.com")
EARLY_PERCENT = 80


class Topics(Construct):
    """Topics with one subscription each. An e-mail address has to confirm its subscription once. An example address is an
    error that stops the deployment, but not the synthesis."""

    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Topics")
        self.page, self.ticket = (
            sns.Topic(self, name.title(), topic_name=f"{stage.prefix}-{name}", master_key=keys.shop, enforce_ssl=True)
            for name in ("page", "ticket")
        )
        tellers = [iam.ServicePrincipal(each) for each in TELLERS]
        account = {"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}}
        keys.shop.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisAccount",
                principals=tellers,
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
                conditions=account,
            )
        )
        for topic, address in ((self.page, stage.told.page), (self.ticket, stage.told.ticket)):
            topic.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="AlarmsOfThisAccount",
                    principals=tellers,
                    actions=["sns:Publish"],
                    resources=[topic.topic_arn],
                    conditions=account,
                )
            )
            protocol = sns.SubscriptionProtocol.HTTPS if address.startswith("https:") else sns.SubscriptionProtocol.EMAIL
            sns.Subscription(topic, "Told", topic=topic, endpoint=address, protocol=protocol)
        self._budget(stage)
        if stage.told.is_example:
            cdk.Annotations.of(self).add_error("told.page or told.ticket is an example: put your own in infra/cdk/stages.py")

    def _budget(self, stage: Stage) -> None:
        """Makes a budget for the whole account, since a filter by tag needs a tag that is activated for billing."""
        told = budgets.CfnBudget.SubscriberProperty(address=self.ticket.topic_arn, subscription_type="SNS")
        budget = budgets.CfnBudget.BudgetDataProperty(
            budget_name=stage.prefix,
            budget_type="COST",
            time_unit="MONTHLY",
            budget_limit=budgets.CfnBudget.SpendProperty(amount=stage.bounds.dollars_a_month, unit="USD"),
        )
        notices = [
            budgets.CfnBudget.NotificationWithSubscribersProperty(
                notification=budgets.CfnBudget.NotificationProperty(
                    notification_type=kind,
                    comparison_operator="GREATER_THAN",
                    threshold=percent,
                    threshold_type="PERCENTAGE",
                ),
                subscribers=[told],
            )
            for kind, percent in (("ACTUAL", EARLY_PERCENT), ("FORECASTED", 100))
        ]
        budgets.CfnBudget(self, "Budget", budget=budget, notifications_with_subscribers=notices)
