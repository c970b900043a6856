# SPDX-License-Identifier: Apache-2.0
#
#   docker build --tag regatta . && docker run --volume "$PWD/out:/out" regatta matrix --tier quick
# The first stage makes a Debian package, which the second one installs: the image has no compiler.
FROM debian:13 AS build
COPY . /src
WORKDIR /src
RUN ci/packages.sh race \
 && apt-get install --yes --no-install-recommends dpkg-dev file \
 && cmake --preset release -D REGATTA_ARCH=any -D REGATTA_CUDA=OFF \
 && cmake --build --preset release --target regatta \
 && cpack --config build/release/CPackConfig.cmake -B /package

FROM debian:13-slim
RUN --mount=type=bind,from=build,source=/package,target=/package \
    apt-get update \
 && apt-get install --yes --no-install-recommends /package/regatta_*.deb \
 && rm -rf /var/lib/apt/lists/*
ENTRYPOINT ["regatta"]
