# SPDX-License-Identifier: Apache-2.0
#
#   docker build --tag regatta . && docker run --volume "$PWD/out:/out" regatta matrix --tier quick
# The first stage makes the wheel, which the second one installs: the image has no compiler.
FROM debian:12 AS build
COPY . /src
WORKDIR /src
RUN ci/packages.sh race \
 && apt-get install --yes --no-install-recommends python3-venv \
 && ci/wheel /wheel

FROM debian:13-slim
RUN --mount=type=bind,from=build,source=/wheel,target=/wheel \
    apt-get update \
 && apt-get install --yes --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/regatta \
 && /opt/regatta/bin/pip install --no-cache-dir "$(echo /wheel/regatta_bench-*.whl)[mpi]"
ENTRYPOINT ["/opt/regatta/bin/regatta"]
