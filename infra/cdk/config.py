"""Settings of a deployment stage. An invalid value raises `ConfigError`, which stops the synthesis."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from ipaddress import IPv4Network

from infra.cdk.rules import ConfigError, check, check_pattern, check_settings, fargate_memory
from server.version import VERSION

RELEASE = VERSION
"""Default tag of both images; `make synth ARGS="--release TAG"` states another one."""
SHOP_FILES = ("policies_file", "tags_file")
SEED_FILES = ("catalog_file", "volumes_file", "orders_file")
"""Fields that name files of the shop: those that server and seed read, and those of the seed alone."""
FILES_MEMORY, ONCE_MEMORY = 112, 8
"""MiB of the container that fetches such files, and of the one that follows the policies."""
SIDECAR_MEMORY = 320
"""MiB of the flags agent, the collector and the audit."""
LOG_DAYS = (7, 14, 30, 90, 180, 365)
STOP_SPARE_S = 5
"""Seconds beyond a turn and `SERVER_CLOSE_S`: a container that is killed earlier loses an answer."""
SERVER_CLOSE_S = 2
"""Most seconds that the server takes to close its connections after its turns (infra/docs/deployment.md)."""


@dataclass(frozen=True, slots=True)
class Network:
    """Network of tasks without internet access, which reach AWS services over VPC endpoints. The prefix lists are AWS's own
    for S3 and DynamoDB and differ between regions: see `aws ec2 describe-managed-prefix-lists`."""

    cidr: str
    zones: tuple[str, ...]
    s3_prefixes: str
    dynamodb_prefixes: str

    def __post_init__(self) -> None:
        try:
            network = IPv4Network(self.cidr)
        except ValueError as error:
            raise ConfigError("network.cidr", f"is no network: {error}") from None
        check(16 <= network.prefixlen <= 19, "network.cidr", "has to be a /16 to /19: each zone takes a /22 and a /26")
        check(len(set(self.zones)) == len(self.zones) >= 2, "network.zones", "has to name two zones or more, each once")
        for name in ("s3_prefixes", "dynamodb_prefixes"):
            check(bool(re.fullmatch(r"pl-[0-9a-f]{8,17}", getattr(self, name))), f"network.{name}", "has to be pl-…")


@dataclass(frozen=True, slots=True)
class TaskSize:
    """CPU units (1024 are a vCPU) and MiB of a task, and the parts reserved for the server and the agent. The rest is for
    the sidecars: flags agent, audit log, and collector of spans."""

    cpu: int
    memory: int
    server_cpu: int
    server_memory: int
    agent_cpu: int
    agent_memory: int

    def __post_init__(self) -> None:
        allowed = fargate_memory(self.cpu)
        check(bool(allowed), "size.cpu", "has to be 256, 512, 1024, 2048, 4096, 8192 or 16384")
        check(self.memory in allowed, "size.memory", f"has to be one of what Fargate sells with {self.cpu} units")
        spare_cpu = self.cpu - self.server_cpu - self.agent_cpu
        check(spare_cpu >= 64, "size", "has to leave 64 units for the flags agent and the collector")
        enough = self.spare_memory >= SIDECAR_MEMORY
        check(enough, "size", f"has to leave {SIDECAR_MEMORY} MiB for the flags agent, the collector and the audit")

    @property
    def spare_memory(self) -> int:
        return self.memory - self.server_memory - self.agent_memory


@dataclass(frozen=True, slots=True)
class Scaling:
    """Number of tasks, and the load of each to aim for: CPU in percent, and concurrent calls (None without a server)."""

    least: int
    most: int
    cpu_percent: int = 50
    calls_under_way: int | None = 15

    def __post_init__(self) -> None:
        check(1 <= self.least <= self.most, "scaling", "has to have 1 task or more, and no more at least than at most")
        check(10 <= self.cpu_percent <= 80, "scaling.cpu_percent", "has to be 10 to 80: above it new tasks come too late")
        check(
            self.calls_under_way is None or 1 <= self.calls_under_way <= 40,
            "scaling.calls_under_way",
            "has to be 1 to 40: at 50 the server refuses calls",
        )


@dataclass(frozen=True, slots=True)
class Search:
    """Limits of OpenSearch Serverless, in compute units (OCUs). With a minimum below one, search would scale to zero, and
    the first request after a pause would take 10 to 30 seconds."""

    replicas: bool
    least_search: int
    most_search: int
    most_indexing: int

    def __post_init__(self) -> None:
        check(
            self.least_search >= 1, "search.least_search", "has to be 1 or more: a search that starts from nothing is late"
        )
        check(self.most_search >= self.least_search, "search.most_search", "has to be least_search or more")
        check(self.most_indexing >= 1, "search.most_indexing", "has to be 1 or more")


@dataclass(frozen=True, slots=True)
class Cache:
    """Limits of ElastiCache Serverless: gigabytes, thousands of processing units a second, and days to keep snapshots."""

    most_gb: int
    most_ecpu_thousands: int
    snapshot_days: int

    def __post_init__(self) -> None:
        check(1 <= self.most_gb <= 5000, "cache.most_gb", "has to be 1 to 5000")
        check(1 <= self.most_ecpu_thousands <= 15_000, "cache.most_ecpu_thousands", "has to be 1 to 15000")
        check(0 <= self.snapshot_days <= 35, "cache.snapshot_days", "has to be 0 to 35")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds on the cost of an error or an attack. Request units a second limit each DynamoDB table and each index. The
    budget, in dollars a month of the whole account, only notifies, first at 80 %."""

    most_read_units: int
    most_write_units: int
    dollars_a_month: int

    def __post_init__(self) -> None:
        for name in ("most_read_units", "most_write_units", "dollars_a_month"):
            check(getattr(self, name) >= 1, f"bounds.{name}", "has to be 1 or more: without a bound nothing ends the bill")


@dataclass(frozen=True, slots=True)
class AlertAddresses:
    """Addresses that receive pages and tickets: an e-mail address, or the HTTPS URL of a paging service."""

    page: str
    ticket: str

    def __post_init__(self) -> None:
        for name in ("page", "ticket"):
            told = re.fullmatch(r"https://[^\s/]+\S*|[^\s@/]+@[^\s@/]+", getattr(self, name))
            check(bool(told), f"told.{name}", "has to be an address of mail or https: an alarm that tells nobody is none")

    @property
    def is_example(self) -> bool:
        return any(re.search(r"[@/.]example(\.(com|net|org))?(/|$)", address) for address in (self.page, self.ticket))


@dataclass(frozen=True, slots=True)
class Shared:
    """Host name, and its certificate, under which agents in other tasks call the shared service."""

    domain: str
    certificate_arn: str

    def __post_init__(self) -> None:
        _check_address("shared", self.domain, self.certificate_arn)


@dataclass(frozen=True, slots=True)
class Door:
    """The customers' entry points, HTTPS and WebSocket. `issuer`, `jwks_url`, `audiences`: the tokens that authenticate
    customers. `messages_a_second`: limit of the whole stage. `requests_an_address`: limit of one IP address in five minutes.
    `socket_domain`: host name for WebSockets, with the same certificate; None for API Gateway's own. `reserved_concurrency`:
    of each Lambda function; None for what the account leaves, since new accounts have none to reserve."""

    domain: str
    certificate_arn: str
    issuer: str
    jwks_url: str
    audiences: tuple[str, ...]
    messages_a_second: int
    requests_an_address: int = 600
    socket_domain: str | None = None
    reserved_concurrency: int | None = None

    def __post_init__(self) -> None:
        _check_address("door", self.domain, self.certificate_arn)
        _check_address("door", self.socket_domain or self.domain, self.certificate_arn)
        for name in ("issuer", "jwks_url"):
            check(getattr(self, name).startswith("https://"), f"door.{name}", "has to be an address of https")
        check(bool(self.audiences) and all(self.audiences), "door.audiences", "has to name what tokens are meant for")
        check(not any("," in each for each in self.audiences), "door.audiences", "has to be without commas")
        check(1 <= self.messages_a_second <= 5000, "door.messages_a_second", "has to be 1 to 5000")
        check(
            self.reserved_concurrency is None or self.reserved_concurrency >= 1,
            "door.reserved_concurrency",
            "has to be 1 or more",
        )
        check(
            100 <= self.requests_an_address <= 1_000_000, "door.requests_an_address", "has to be 100 or more, as WAF has it"
        )

    @property
    def is_example(self) -> bool:
        """True if the issuer is still a placeholder, so that no token is accepted."""
        return ".example" in self.issuer or "EXAMPLE" in self.issuer


def _check_address(field: str, domain: str, certificate_arn: str) -> None:
    check(bool(re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", domain)), f"{field}.domain", "has to be a host name")
    certificate = r"arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/[0-9a-f-]{36}"
    check(bool(re.fullmatch(certificate, certificate_arn)), f"{field}.certificate_arn", "has to be an ARN of ACM")


@dataclass(frozen=True, slots=True)
class Stage:
    """All settings of one deployment stage.

    `walled`: agent and server run in separate tasks with separate roles, instead of in one task. `keep`: data outlives the
    stack. `publishers`: ARNs of roles that upload preview pages from outside the network. `model`, `temperature`,
    `max_tokens`: the agent's (None: the model's default). `prompt_cache`, `tools`, `turn_calls`: the agent's settings of
    these names (None: its default). `traces`: share of turns that X-Ray receives.

    `embedder`, `classifier`, `standby`, `shop_name`, `policies_file`, `tags_file`, `order_pattern`, `title_pattern`,
    `turn_clock`: the server settings of these names (None: the server's default). `catalog_file`, `volumes_file`,
    `orders_file`: what the seed loads (None: the demo catalogue). A file is a path in the image, or `s3:NAME` below
    `shop/` of the bucket; policies there are followed, other files are read when a task starts. `settings`: other server
    settings, by name."""

    name: str
    region: str
    network: Network
    size: TaskSize
    shared_size: TaskSize
    scaling: Scaling
    search: Search
    cache: Cache
    shared: Shared
    door: Door
    agents_size: TaskSize
    agents_scaling: Scaling
    bounds: Bounds
    told: AlertAddresses
    model: str
    embedder: str
    standby: str
    shop_name: str
    policies_file: str | None
    publishers: tuple[str, ...]
    walled: bool
    keep: bool
    log_days: int
    turn_budget_ms: int
    flags_bake_minutes: int
    order_pattern: str | None = None
    title_pattern: str | None = None
    turn_clock: str = "wall"
    temperature: float | None = None
    max_tokens: int | None = None
    prompt_cache: bool = True
    tools: str | None = None
    turn_calls: int | None = None
    classifier: str = "local"
    tags_file: str | None = None
    catalog_file: str | None = None
    volumes_file: str | None = None
    orders_file: str | None = None
    traces: float = 0.05
    settings: tuple[tuple[str, str], ...] = ()
    release: str = RELEASE

    def __post_init__(self) -> None:
        check(bool(re.fullmatch(r"[a-z][a-z0-9]{1,9}", self.name)), "name", "has to be 2 to 10 small letters and digits")
        check(bool(re.fullmatch(r"[a-z]{2}(-[a-z]+)+-[0-9]", self.region)), "region", "has to be a region of AWS")
        check(
            all(zone.startswith(self.region) for zone in self.network.zones), "network.zones", f"have to be in {self.region}"
        )
        check(
            bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", self.release)), "release", "has to be a tag of an image"
        )
        check(self.release != "latest", "release", "has to be a tag that stays: what latest was cannot be rolled back to")
        check(self.walled or not self.keep, "walled", "has to be so where data is kept: a shared role is no wall")
        check(all(each.startswith("arn:") for each in self.publishers), "publishers", "has to be ARNs of roles")
        check(self.log_days in LOG_DAYS, "log_days", f"has to be one of {', '.join(map(str, LOG_DAYS))}")
        check(self.turn_clock in ("wall", "tools"), "turn_clock", "has to be wall or tools, as MANGA_TURN_CLOCK")
        for name in ("order_pattern", "title_pattern"):
            if pattern := getattr(self, name):
                check_pattern(name, pattern)
        check(300 <= self.turn_budget_ms <= 60_000, "turn_budget_ms", "has to be 300 to 60000, as MANGA_TURN_BUDGET_MS")
        check(self.temperature is None or 0 <= self.temperature <= 1, "temperature", "has to be 0 to 1")
        check(self.max_tokens is None or 1 <= self.max_tokens <= 8192, "max_tokens", "has to be 1 to 8192")
        named = self.tools is None or re.fullmatch(r"[a-z0-9_]+(,[a-z0-9_]+)*", self.tools)
        check(bool(named), "tools", "has to be all, core, or names with commas")
        check(self.turn_calls is None or 1 <= self.turn_calls <= 20, "turn_calls", "has to be 1 to 20")
        check(0 <= self.traces <= 1, "traces", "has to be a share, 0 to 1")
        check_settings("settings", dict(self.settings))
        for name in (*SHOP_FILES, *SEED_FILES):
            file = getattr(self, name)
            named = file is None or not file.startswith("s3:") or re.fullmatch(r"s3:[A-Za-z0-9_-]+(\.[a-z]+)+", file)
            check(bool(named), name, "has to be a path in the image, or s3: and a name such as policies.md")
        field, least = "shared_size" if self.walled else "size", SIDECAR_MEMORY + FILES_MEMORY + 2 * ONCE_MEMORY
        enough = not self.follows_policies or getattr(self, field).spare_memory >= least
        check(enough, field, f"has to leave {least} MiB for the flags agent, the collector, the audit and the policies")
        own = self.catalog_file is not None or not (self.volumes_file or self.orders_file)
        check(own, "catalog_file", "has to be stated: volumes and orders are of its titles")

    @property
    def follows_policies(self) -> bool:
        """True if the policies are a file of the bucket."""
        return self.policies_file is not None and self.policies_file.startswith("s3:")

    @property
    def prefix(self) -> str:
        return f"manga-tools-{self.name}"

    @property
    def service(self) -> str:
        """Name of the service and of its stack; with a slash in front, of its log group."""
        return f"{self.prefix}-{'shared' if self.walled else 'pod'}"

    @property
    def metrics_log(self) -> str:
        """Log group from which CloudWatch reads the collector's metrics."""
        return f"/{self.service}/metrics"

    @property
    def agents(self) -> str:
        """Name of the ECS service that runs the agents: the server's, or a separate service."""
        return f"{self.prefix}-agents" if self.walled else self.service

    @property
    def outside(self) -> str:
        """Name of the Lambda function that posts to sockets and fetches the issuer's keys for agents."""
        return f"{self.prefix}-outside"

    @property
    def namespace(self) -> str:
        return f"MangaTools/{self.name}"

    @property
    def table_prefix(self) -> str:
        return f"manga-{self.name}-"

    @property
    def stop_seconds(self) -> int:
        """Seconds between SIGTERM and SIGKILL of the server. The longest turn needs 67; ECS allows 120 at most."""
        return math.ceil(self.turn_budget_ms / 1000) + SERVER_CLOSE_S + STOP_SPARE_S
