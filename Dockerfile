# docker build -t lev-plugins . && docker run --rm -v "$PWD:/work" lev-plugins [FLAG ...] [FILE|FOLDER ...]
FROM python:3.12-slim
# of another owner than the container's user is a work tree that is mounted
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && git config --system --add safe.directory '*'
COPY setup.py pyproject.toml constraints.txt /lev-plugins/
COPY lev_plugins /lev-plugins/lev_plugins
COPY models/en /lev-plugins/models/en
RUN pip install --no-cache-dir -c /lev-plugins/constraints.txt '/lev-plugins[check]' /lev-plugins/models/en
WORKDIR /work
ENTRYPOINT ["lev-plugins", "check"]
