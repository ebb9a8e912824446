"""Monthly needs of a stage, in the units that AWS bills."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from infra.capacity import search_units, tasks
from infra.capacity.inputs import DOOR_BALANCERS, FIREWALL_RULES, Prices, Stage
from infra.capacity.traffic import HOUR, HOURS, Traffic

GB, KB_A_GB, MILLION = 1e9, 1e6, 1e6


@dataclass(frozen=True, slots=True)
class Need:
    """Quantity that a month needs, in the unit of the price named `price`. `of`: section of the bill."""

    of: str
    what: str
    quantity: float
    price: str


@dataclass(frozen=True, slots=True)
class Month:
    """Needs of one stage in a month in which every day has the given traffic. A call returns the list of them."""

    traffic: Traffic
    stage: Stage
    prices: Prices

    def __call__(self) -> list[Need]:
        return [
            *self.compute(),
            *self.agents(),
            *self.agent_model(),
            *self.search(),
            *self.tables(),
            *self.cache(),
            *self.model(),
            *self.network(),
            *self.door(),
            *self.watching(),
            *self.keys(),
        ]

    @property
    def days(self) -> float:
        return self.prices.days_a_month

    @property
    def task_hours(self) -> float:
        return sum(tasks.by_hour(self.traffic, self.stage)) * self.days

    def compute(self) -> Iterator[Need]:
        yield Need("tasks", "vCPU-hours", self.task_hours * self.stage.vcpu, "fargate_vcpu_hour")
        yield Need("tasks", "GB-hours", self.task_hours * self.stage.memory_gb, "fargate_gb_hour")

    def agents(self) -> Iterator[Need]:
        hours = sum(tasks.agents_by_hour(self.traffic, self.stage)) * self.days
        yield Need("tasks", "vCPU-hours of agents", hours * self.stage.agents_vcpu, "fargate_vcpu_hour")
        yield Need("tasks", "GB-hours of agents", hours * self.stage.agents_memory_gb, "fargate_gb_hour")

    def agent_model(self) -> Iterator[Need]:
        way, messages = self.traffic.inputs["model"][self.stage.way], self.traffic.messages * self.days / MILLION
        yield Need("agent's model", "million tokens in", messages * way["input"], "agent_input_tokens_million")
        yield Need("agent's model", "million tokens out", messages * way["output"], "agent_output_tokens_million")

    def search(self) -> Iterator[Need]:
        searching = sum(search_units.by_hour(self.traffic, self.stage)) * self.days
        yield Need("OpenSearch", "search OCU-hours", searching, "ocu_hour")
        yield Need("OpenSearch", "indexing OCU-hours", self.stage.indexing_ocus * self.prices.hours_a_month, "ocu_hour")
        yield Need("OpenSearch", "GB of index", self.traffic.inputs["search"]["index_gb"], "search_storage_gb_month")

    def tables(self) -> Iterator[Need]:
        used, told = self.traffic.consumed(), self.traffic.inputs["tables"]
        personal = used.wru * told["profile_days"] * told["profile_bytes"] / GB
        yield Need("DynamoDB", "million read units", used.rru * self.days / MILLION, "rru_million")
        yield Need("DynamoDB", "million write units", used.wru * self.days / MILLION, "wru_million")
        yield Need("DynamoDB", "GB kept", told["catalogue_gb"] + personal, "table_storage_gb_month")
        yield Need("DynamoDB", "GB recoverable", personal, "recovery_gb_month")

    def cache(self) -> Iterator[Need]:
        yield Need("ElastiCache", "million ECPUs", self.ecpus * self.days / MILLION, "ecpu_million")
        yield Need("ElastiCache", "GB-hours", self.cache_gb * self.prices.hours_a_month, "cache_gb_hour")

    @property
    def ecpus(self) -> float:
        """Valkey's processing units (ECPUs) a day: the commands, the script time in ECPUs, or the KB, whichever is most."""
        used = self.traffic.consumed()
        return float(max(used.commands, used.script_us / self.traffic.inputs["cache"]["us_an_ecpu"], used.cache_kb))

    @property
    def cache_gb(self) -> float:
        told = self.traffic.inputs["cache"]
        sessions = self.traffic.messages / told["messages_a_session"] * told["session_hours"] / len(HOURS)
        kept = self.traffic.live("search") * told["kept_hours"] / len(HOURS)
        wanted = (sessions * told["session_bytes"] + kept * told["kept_bytes"]) / GB
        return float(min(self.stage.most_cache_gb, max(told["least_gb"], wanted)))

    @property
    def embeddings(self) -> float:
        return self.traffic.embedded_texts if self.stage.bedrock else 0.0

    def model(self) -> Iterator[Need]:
        tokens = self.embeddings * self.traffic.inputs["embedding"]["tokens_a_text"]
        yield Need("Bedrock", "million tokens", tokens * self.days / MILLION, "embedding_tokens_million")

    def network(self) -> Iterator[Need]:
        used, embedding = self.traffic.consumed(), self.traffic.inputs["embedding"]
        through = used.search_kb + self.embeddings * embedding["kb_a_text"]
        elsewhere = 1 - 1 / self.stage.zones
        hours = self.stage.interface_endpoints * self.stage.zones * self.prices.hours_a_month
        yield Need("network", "endpoint-hours", hours, "endpoint_hour")
        yield Need("network", "GB through endpoints", through * self.days / KB_A_GB, "endpoint_gb")
        yield Need("network", "GB between zones", used.cache_kb * elsewhere * self.days / KB_A_GB, "between_zones_gb")
        if self.stage.balancers > DOOR_BALANCERS:
            told = self.traffic.inputs["balancer"]
            gigabytes = self.traffic.calls * self.days * told["kb_a_call"] / KB_A_GB
            units = max(self.prices.hours_a_month, gigabytes / told["gb_a_unit"])
            yield Need("network", "balancer-hours", self.prices.hours_a_month, "balancer_hour")
            yield Need("network", "balancer units", units, "balancer_unit_hour")

    def door(self) -> Iterator[Need]:
        told, hours = self.traffic.inputs["door"], self.prices.hours_a_month
        a_month = self.traffic.messages * self.days
        by_socket = a_month * told["share_of_sockets"]
        sockets = by_socket / self.traffic.inputs["cache"]["messages_a_session"]
        calls = by_socket * told["pieces_an_answer"] + sockets * told["calls_a_socket"]
        gigabytes = a_month * told["kb_a_message"] / KB_A_GB
        yield Need("door", "balancer-hours", DOOR_BALANCERS * hours, "balancer_hour")
        yield Need("door", "balancer units", max(DOOR_BALANCERS * hours, gigabytes), "balancer_unit_hour")
        yield Need("door", "address-hours", self.stage.zones * hours, "address_hour")
        messages = by_socket * (1 + told["pieces_an_answer"]) / MILLION
        yield Need("door", "million messages on sockets", messages, "socket_messages_million")
        yield Need(
            "door", "million minutes of sockets", sockets * told["minutes_a_socket"] / MILLION, "socket_minutes_million"
        )
        yield Need("door", "million calls of functions", calls / MILLION, "function_calls_million")
        yield Need("door", "GB-seconds of functions", calls * told["gb_seconds_a_call"], "function_gb_second")
        yield Need("door", "firewalls", 1, "firewall_month")
        yield Need("door", "firewall's rules", FIREWALL_RULES, "firewall_rule_month")
        yield Need("door", "million requests looked at", (a_month - by_socket) / MILLION, "firewall_requests_million")

    def watching(self) -> Iterator[Need]:
        stage, kept = self.stage, self.log_gb * self.stage.log_days / self.days
        yield Need("watching", "GB of logs", self.log_gb, "log_gb")
        yield Need("watching", "GB of logs kept", kept, "log_storage_gb_month")
        yield Need("watching", "metrics", stage.metrics, "metric_month")
        yield Need("watching", "alarms", stage.alarms, "alarm_month")
        yield Need("watching", "dashboards", stage.dashboards, "dashboard_month")

    def keys(self) -> Iterator[Need]:
        polls = self.task_hours * HOUR / self.traffic.inputs["flags"]["poll_seconds"]
        yield Need("keys and flags", "KMS keys", self.stage.keys, "key_month")
        yield Need("keys and flags", "secrets", self.stage.secrets, "secret_month")
        yield Need("keys and flags", "million looks at flags", polls / MILLION, "configuration_calls_million")

    @property
    def log_gb(self) -> float:
        """GB of logs a month, with the default log settings: the audit of orders, and each task's metrics."""
        told = self.traffic.inputs["logs"]
        audit = self.traffic.live("order") * self.days * told["audit_bytes"]
        metrics = self.task_hours * 60 * told["metric_bytes_a_minute"]
        return float((audit + metrics) / GB)


def dollars(needs: list[Need], prices: Prices, chosen: Callable[[Need], bool] = lambda need: True) -> float:
    return sum(need.quantity * prices[need.price] for need in needs if chosen(need))
