FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/lineage-graph
COPY requirements-runtime.lock .
RUN /opt/lineage-graph/bin/pip install --no-cache-dir --require-hashes -r requirements-runtime.lock
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/lineage-graph/bin/pip install --no-cache-dir --no-deps /wheels/*.whl

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /data lineage && install -d -o lineage /data
COPY --from=build /opt/lineage-graph /opt/lineage-graph
USER lineage
WORKDIR /data
VOLUME /data
EXPOSE 5000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 \
    CMD ["/opt/lineage-graph/bin/python", "-c", "import httpx; httpx.get('http://127.0.0.1:5000/healthz').raise_for_status()"]
ENTRYPOINT ["/opt/lineage-graph/bin/lineage-graph"]
CMD ["serve", "--host", "0.0.0.0", "--unsafe-no-auth", "--data", "/data"]
