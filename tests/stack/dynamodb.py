"""DynamoDB Local from Maven Central, in memory. Its licence allows tests, not redistribution: it is fetched, never shipped.

`python -m tests.stack.dynamodb` runs one until Ctrl-C. Any credentials do; REGION and KEYS are what the tests use.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tests.stack import artefacts
from tests.stack.artefacts import StackError
from tests.stack.children import Running, child, free_port, run_until_stopped, temporary
from tests.stack.java import java_home, missing_for

SET = "dynamodb-local"
JAVA = 17
MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"
START_SECONDS = 40.0
REGION = "eu-west-1"
KEYS = {"aws_access_key_id": "stack", "aws_secret_access_key": "stack"}


def missing() -> str | None:
    """Why it can't be started here, or None when it can."""
    return missing_for("DynamoDB Local", JAVA, fetched=artefacts.is_fetched(SET))


def ensure() -> None:
    """Fetches what is not here yet. Raises `StackError`."""
    artefacts.fetch(SET)


@contextmanager
def dynamodb_local(*, slow_tables: bool = False) -> Iterator[str]:
    """The endpoint of a database of one's own, empty at first and gone at the end. Raises `StackError`.

    One database for every region and every key, as `-sharedDb` has it. With `slow_tables` a table takes its time to become
    ACTIVE, as it does in the cloud.
    """
    with started(slow_tables=slow_tables) as local:
        yield local.url


@contextmanager
def started(*, slow_tables: bool = False) -> Iterator[Running]:
    """The same with the process, for tests that pause or kill it."""
    problem = missing()
    if problem:
        raise StackError(problem)
    with temporary("dynamodb") as folder:
        port = free_port()
        jars = os.pathsep.join(str(each.path) for each in artefacts.listed(SET))
        # A hotter compiler pays off after minutes; a test run is shorter.
        java = [java_home(JAVA) / "bin" / "java", "-Xmx256m", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={folder}"]
        options = ["-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)]
        late = ["-delayTransientStatuses"] if slow_tables else []
        with child("DynamoDB Local", [*java, "-cp", jars, MAIN, *options, *late], folder / "said.log") as process:
            process.wait_until(lambda: is_ready(port), START_SECONDS)
            yield Running(f"http://127.0.0.1:{port}", process)


def is_ready(port: int) -> bool:
    """It lists its tables, for a signature that it does not check."""
    scope = f"stack/20200101/{REGION}/dynamodb/aws4_request"
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0",
    }
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        asking.request("POST", "/", "{}", headers)
        return "TableNames" in json.load(asking.getresponse())
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        asking.close()


if __name__ == "__main__":
    ensure()
    run_until_stopped(lambda stack: stack.enter_context(dynamodb_local()))
