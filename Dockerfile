# syntax=docker/dockerfile:1
# Two stages: what is installed by pip, and what runs. Pinned by hash; no compiler, no curl, no shell needed at run time.
ARG PYTHON_IMAGE=docker.io/library/python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
WORKDIR /build
COPY requirements.lock .
RUN python -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock \
 && /opt/venv/bin/pip uninstall -y -q pip setuptools

FROM ${PYTHON_IMAGE}
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin manga
WORKDIR /app
COPY --from=build /opt/venv /opt/venv
COPY session session
COPY tools tools
COPY server server
COPY infra/demo infra/demo
# The cache of computed vectors and the socket of the embedded Valkey go to /tmp: give it a volume where the root is read-only.
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1 \
    MANGA_PORT=8080 MANGA_DATA_DIR=/tmp/manga-tools
USER 10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=2s --start-period=10s --retries=3 CMD ["python", "-m", "server.healthcheck"]
ENTRYPOINT ["python", "-m", "server"]
CMD ["serve"]
