# ecsuite in a container: `docker build -t ecsuite .`, then
# `docker run --rm -v "$PWD:/data" ecsuite train-game disc_tiny`. Files belong to who asks for it by `--user "$(id -u):$(id -g)"`.
FROM python:3.11-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --quiet --no-deps --wheel-dir wheels . && cp constraints.txt wheels

FROM python:3.11-slim
WORKDIR /data
RUN --mount=type=bind,from=build,source=/source/wheels,target=wheels \
    pip install --quiet --no-cache-dir -c wheels/constraints.txt "$(echo wheels/*.whl)[data,images,plots,translate]" \
    && useradd --create-home ecsuite
ENV HOME=/data PYTHONUNBUFFERED=1
USER ecsuite
ENTRYPOINT ["ecsuite"]
CMD ["--help"]
