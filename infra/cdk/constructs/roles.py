"""IAM roles of the server, the agent and their sidecars.

If server and agent run in separate tasks, each has its own role. In a pod they share a task, and all containers of a Fargate
task share its role. That role may only assume the roles of server, agent, flags agent and collector, and each container is
configured with its own. This keeps a correct container to its own rights and names it in CloudTrail, but does not isolate:
an attacker in one container can assume any of the roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import SEED_FILES, Stage
from infra.cdk.constructs import permissions as may
from infra.cdk.constructs.cache import Cache
from infra.cdk.constructs.files import PAGES, Files
from infra.cdk.constructs.flags import Flags
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.models import bedrock_model, model_arns
from infra.cdk.constructs.search import Search
from infra.cdk.constructs.shop_files import fetched
from infra.cdk.constructs.tables import Tables


@dataclass(frozen=True, slots=True)
class Data:
    keys: Keys
    tables: Tables
    search: Search
    cache: Cache
    flags: Flags
    files: Files


class Roles(Construct):
    """All roles of a stage. `service`: task role of the service that runs the server."""

    def __init__(self, scope: Construct, stage: Stage, data: Data) -> None:
        super().__init__(scope, "Roles")
        self._stage, self._stack = stage, cdk.Stack.of(self)
        embedder = may.embeds(self._stack, bedrock_model(stage.embedder))
        classifier = may.classifies(self._stack, bedrock_model(stage.classifier))
        files = fetched(stage)
        keys = may.uses_keys(data.keys, stage.region, "dynamodb", "s3")
        store = may.reads_the_store(data.tables)
        rest = (may.searches(data.search), may.use_cache(data.cache), keys, *may.fetches(data.files, files), *embedder)
        tasks = _ecs(self._stack)
        theirs = tasks if stage.walled else self._one_of("pod")
        self.flags = self._role("flags", self._one_of("server" if stage.walled else "pod"), (may.reads_flags(data.flags),))
        traced = self._one_of(*(("server", "agent") if stage.walled else ("pod",)))
        self.traces = self._role("traces", traced, (may.send_spans(), may.tells_of_metrics(self._stack, stage.metrics_log)))
        helpers = [role.role_arn for role in (self.flags, self.traces)] if stage.walled else []
        becomes = (may.allow("BecomeOneThatHelps", ("sts:AssumeRole",), helpers),) if helpers else ()
        self.server = self._role("server", theirs, (*store, *rest, *classifier, *becomes))
        speaks = (may.invoke_model(self._stack, stage.model), may.speaks_outside(self._stack, stage.outside))
        traces = (may.allow("BecomeTheCollector", ("sts:AssumeRole",), helpers[1:]),) if helpers else ()
        self.agent = self._role("agent", theirs, (*speaks, *traces))
        loaded = may.puts_the_standby(data.files, [*files, *fetched(stage, SEED_FILES)])
        written = may.writes_the_store(data.tables, orders=stage.orders_file is not None)
        load = (*written, may.searches(data.search), *loaded)
        self.seed = self._role("seed", tasks, (*load, keys, *embedder))
        self.service = self.server if stage.walled else self._pod(tasks)
        data.search.let_in([self.server.role_arn], [self.seed.role_arn])
        self._explain(stage, data)

    def _role(self, name: str, trusted: iam.IPrincipal, statements: Sequence[iam.PolicyStatement]) -> iam.Role:
        return iam.Role(
            self,
            name.title().replace("-", ""),
            role_name=f"{self._stage.prefix}-{name}",
            assumed_by=trusted,
            inline_policies={"adapters": iam.PolicyDocument(statements=list(statements))},
        )

    def _pod(self, tasks: iam.IPrincipal) -> iam.Role:
        arns = [role.role_arn for role in (self.server, self.agent, self.flags, self.traces)]
        return self._role("pod", tasks, (may.allow("BecomeOneOfThem", ("sts:AssumeRole",), arns),))

    def _one_of(self, *names: str) -> iam.PrincipalBase:
        """Returns a principal with a condition on the roles' ARNs, since IAM refuses a principal that does not exist yet."""
        arns = [
            self._stack.format_arn(service="iam", region="", resource="role", resource_name=f"{self._stage.prefix}-{name}")
            for name in names
        ]
        return iam.PrincipalWithConditions(iam.AccountRootPrincipal(), {"ArnEquals": {"aws:PrincipalArn": arns}})

    def _explain(self, stage: Stage, data: Data) -> None:
        bucket = f"<{self._stack.get_logical_id(data.files.shop.node.default_child)}.Arn>"  # type: ignore[arg-type]
        pages = "Pages are named by title and volume: all of one prefix, and nothing beside it."
        acknowledge(self.server, f"AwsSolutions-IAM5[Resource::{bucket}/{PAGES}/*]", pages)
        acknowledge(self.traces, "AwsSolutions-IAM5[Resource::*]", "Segments of X-Ray have no resource that could be named.")
        streams = f"arn:aws:logs:{stage.region}:<AWS::AccountId>:log-group:{stage.metrics_log}:log-stream:*"
        acknowledge(self.traces, f"AwsSolutions-IAM5[Resource::{streams}]", "Streams of the one log, which are few.")
        models = [bedrock_model(each) for each in (stage.embedder, stage.classifier)]
        for role, model in ((self.agent, stage.model), *((self.server, each) for each in models)):
            for arn in model_arns(self._stack, model) if model else ():
                if ":bedrock:*:" in arn:
                    finding = arn.replace(f"arn:{self._stack.partition}:", "arn:aws:")
                    regions = "An inference profile calls this one model in whichever of its regions has room."
                    acknowledge(role, f"AwsSolutions-IAM5[Resource::{finding}]", regions)


def _ecs(stack: cdk.Stack) -> iam.PrincipalBase:
    """Returns the ECS service principal, limited to this account's tasks to prevent the confused deputy problem."""
    here = stack.format_arn(service="ecs", resource="*")
    conditions = {"StringEquals": {"aws:SourceAccount": stack.account}, "ArnLike": {"aws:SourceArn": here}}
    return iam.PrincipalWithConditions(iam.ServicePrincipal("ecs-tasks.amazonaws.com"), conditions)
