// SPDX-License-Identifier: Apache-2.0
//
// Calls a process of a run by gRPC as a process of another run or version, or a malicious one,
// would. Prints how the call ended: `UNAUTHENTICATED: the token is not this run's`. The call's
// first message is the contents of stdin, if any.
//   call_as_stranger ADDRESS DOOR METHOD [KEY=VALUE...] < MESSAGE
// DOOR: the key of the door at the address.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "kernels/comm/grpc/grpc_hello.h"
#include "kernels/comm/grpc/stranger_for_test.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: call_as_stranger ADDRESS DOOR METHOD [KEY=VALUE...] < MESSAGE\n", stderr);
    return 1;
  }
  regatta::test::Metadata metadata;
  for (int i = 4; i < argc; ++i) {
    const std::string pair = argv[i];
    const std::size_t sign = pair.find('=');
    metadata[pair.substr(0, sign)] = pair.substr(sign + 1);
  }
  const regatta::test::Bytes message{std::istreambuf_iterator<char>(std::cin), {}};
  regatta::test::Stranger stranger(argv[1], metadata, {.method = argv[3], .key = argv[2]});
  if (!message.empty()) stranger.write(message);
  std::puts(regatta::exchange::words_of(stranger.finish()).c_str());
  return 0;
}
