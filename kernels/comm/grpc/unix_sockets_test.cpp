// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/unix_sockets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/grpc/exchange_for_test.h"

namespace regatta::comm {
namespace {

namespace fs = std::filesystem;
using regatta::testing_support::error_of;
using test::End;

ExchangeOptions options_of(int process, const std::string& listen) {
  ExchangeOptions options = test::options_of(process, 2);
  options.listen = listen;
  return options;
}

TEST(UnixSockets, AreInAFolderThatOnlyItsUserCanEnter) {
  const SocketFolder folder;
  struct stat facts {};
  ASSERT_EQ(stat(folder.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0700U);
  EXPECT_TRUE(is_unix(folder.listen()));
  EXPECT_FALSE(is_unix("127.0.0.1:4000"));
  EXPECT_EQ(folder_of_socket(folder.listen() + "/rank0"), folder.listen());
}

TEST(UnixSockets, AreInTmpIfThePathIsTooLongOrNeedsAnEscape) {
  const char* const before = std::getenv("TMPDIR");
  const std::optional<std::string> kept =
      before ? std::optional<std::string>(before) : std::nullopt;
  for (const std::string& name : {std::string(90, 'a'), std::string("a b%20")}) {
    const fs::path parent = fs::path("/tmp") / (name + std::to_string(getpid()));
    fs::create_directories(parent);
    setenv("TMPDIR", parent.c_str(), 1);
    {
      const SocketFolder folder;
      EXPECT_EQ(fs::path(folder.path()).parent_path(), "/tmp") << parent;
      End server(options_of(0, folder.listen()));
      EXPECT_EQ(server.exchange.serve(), "unix:" + folder.path() + "/rank0");
    }
    fs::remove_all(parent);
  }
  kept ? setenv("TMPDIR", kept->c_str(), 1) : unsetenv("TMPDIR");
}

TEST(UnixSockets, CarryMessagesBitForBitAfterTheirFolderIsGone) {
  const std::vector<std::int64_t> sizes = {10, 9'000'000};
  auto folder = std::make_unique<SocketFolder>();
  End server(options_of(0, folder->listen()));
  End client(options_of(1, folder->listen()));
  const std::string address = server.exchange.serve();
  client.exchange.connect(0, address);
  folder.reset();
  EXPECT_FALSE(fs::exists(address.substr(kUnixScheme.size())));
  const auto send = client.send(1, 0, sizes);
  const auto receive = server.receive(1, 1, sizes);
  for (std::int64_t step = 0; step < 3; ++step) {
    send->set(test::random_tensors(sizes, static_cast<unsigned>(step)));
    std::thread sender([&] { send->run(step); });
    receive->run(step);
    sender.join();
    EXPECT_EQ(receive->tensors, send->tensors);
  }
}

TEST(UnixSockets, AreNotMadeWhereThereIsNoFolder) {
  End server(options_of(0, "unix:/nonexistent"));
  const std::string error = error_of([&] { server.exchange.serve(); }, ErrorKind::Io);
  EXPECT_EQ(error, "cannot listen at unix:/nonexistent/rank0");
}

}  // namespace
}  // namespace regatta::comm
