# ecsuite in a container: `docker build -t ecsuite .`, then
# `docker run --rm -v "$PWD:/work" ecsuite train-game disc_tiny`. Files belong to who asks for it by `--user "$(id -u):$(id -g)"`.
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --quiet --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
COPY constraints.txt /tmp/
COPY --from=build /wheels /wheels
RUN pip install --quiet --no-cache-dir -c /tmp/constraints.txt "$(echo /wheels/*.whl)[data,images,plots,translate]" \
    && rm -r /wheels /tmp/constraints.txt && useradd --create-home ecsuite
ENV HOME=/home/ecsuite PYTHONUNBUFFERED=1
USER ecsuite
WORKDIR /work
ENTRYPOINT ["ecsuite"]
CMD ["--help"]
