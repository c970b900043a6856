# SPDX-License-Identifier: Apache-2.0
#
#   docker build --tag regatta . && docker run --volume "$PWD/out:/out" regatta matrix --tier quick
FROM debian:13
COPY . /src
RUN cd /src && ci/packages.sh race \
 && cmake --preset release -D REGATTA_ARCH=x86-64-v3 \
 && cmake --build --preset release --target regatta \
 && cmake --install build/release && rm -rf build
WORKDIR /
ENTRYPOINT ["regatta"]
