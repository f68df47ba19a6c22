# The service in a container: one process, one folder.
#
#   docker build -t sojourn .
#   docker run -v sojourn:/data -p 7420:7420 -e SOJOURN_TOKENS='orders write ...' sojourn --tls-elsewhere
#
# Outside of the container the port is public: so tokens are needed, and TLS, here (--tls-cert, --tls-key) or in a proxy
# in front (--tls-elsewhere).

FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip wheel --no-cache-dir --wheel-dir /wheels '/source[server]'

FROM python:3.12-slim
RUN useradd --system --create-home --uid 7420 sojourn && install --directory --owner sojourn /data
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels 'sojourn[server]' && rm -rf /wheels
USER sojourn
VOLUME /data
EXPOSE 7420
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 7420), 2).close()"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["sojourn", "serve", "--data", "/data", "--host", "0.0.0.0"]
