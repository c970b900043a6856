// SPDX-License-Identifier: Apache-2.0
//
// Exchanges between real processes: this program starts itself as the other one (posix_spawn, as
// gRPC does not survive a fork), and kills or stops it.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/runtime/measure/clock.h"

extern char** environ;

namespace regatta::comm {
namespace {

using regatta::testing_support::error_of;
using test::End;

constexpr std::int64_t kBytes = 6 << 20;

ExchangeOptions options_of(int process) {
  ExchangeOptions options = test::options_of(process, 2);
  options.limits.keepalive_time_ms = 500;
  options.limits.keepalive_timeout_ms = 1000;
  options.wait_limit_ns = 30'000'000'000;
  return options;
}

/// Process 1: sends back each message that it receives, until process 0 is lost.
int echo(const std::string& address) {
  End end(options_of(1));
  const auto receive = end.receive(0, 0, {kBytes});
  const auto send = end.send(1, 0, {kBytes});
  end.exchange.connect(0, address);
  try {
    for (std::int64_t step = 0;; ++step) {
      receive->run(step);
      send->set(receive->tensors);
      send->run(step);
    }
  } catch (const RunError& error) {
    return error.kind() == ErrorKind::PeerLost ? 0 : 1;
  }
}

/// A second process of this program that runs echo().
class Child {
 public:
  explicit Child(const std::string& address) {
    std::string program = "/proc/self/exe", role = "echo", where = address;
    char* arguments[] = {program.data(), role.data(), where.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  }
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      wait();
    }
  }
  void signal(int number) const { EXPECT_EQ(kill(pid_, number), 0); }
  /// Stops the process and returns when all of its threads have stopped.
  void stop() const {
    signal(SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  /// The process's exit code; negative if a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
};

/// Process 0 and its child, connected, after one echo.
class GrpcProcesses : public testing::Test {
 protected:
  GrpcProcesses() : child_(end_.exchange.serve()) {
    send_ = end_.send(0, 1, {kBytes});
    receive_ = end_.receive(1, 1, {kBytes});
    echo(0);
  }
  void echo(std::int64_t step) {
    const test::Bytes bytes = test::random_bytes(kBytes, static_cast<unsigned>(step));
    send_->set({bytes});
    send_->run(step);
    receive_->run(step);
    EXPECT_EQ(receive_->tensors[0], bytes);
  }
  /// The time until `run` throws PeerLost. Units: milliseconds.
  template <typename Run>
  std::int64_t time_to_loss(Run run) {
    const std::int64_t begin = now_ns();
    const std::string error = error_of([&] { run(); }, ErrorKind::PeerLost);
    EXPECT_NE(error.find("process 1 is lost: "), std::string::npos);
    std::printf("%s\n", error.c_str());
    return (now_ns() - begin) / 1'000'000;
  }

  End end_{options_of(0)};
  Child child_;
  std::unique_ptr<test::MessageEnd> send_, receive_;
};

TEST_F(GrpcProcesses, ExchangeManyMebibytes) {
  for (std::int64_t step = 1; step < 20; ++step) echo(step);
}

TEST_F(GrpcProcesses, EndAWaitSoonAfterTheOtherWasKilled) {
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    child_.signal(SIGKILL);
  });
  EXPECT_LT(time_to_loss([&] { receive_->run(1); }), 3000);
  killer.join();
}

TEST_F(GrpcProcesses, EndSendingSoonAfterTheOtherWasKilled) {
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    child_.signal(SIGKILL);
  });
  EXPECT_LT(time_to_loss([&] {
              for (std::int64_t step = 1;; ++step) echo(step);
            }),
            3000);
  killer.join();
}

TEST_F(GrpcProcesses, EndAWaitForOneThatWasStopped) {
  child_.stop();
  EXPECT_LT(time_to_loss([&] { receive_->run(1); }), 5000);
  child_.signal(SIGCONT);
  EXPECT_EQ(child_.wait(), 0) << "the one that was stopped does not notice that it is lost";
}

TEST_F(GrpcProcesses, EndSendingToOneThatWasStopped) {
  child_.stop();
  EXPECT_LT(time_to_loss([&] {
              send_->run(1);
              send_->run(2);
              send_->run(3);
            }),
            5000);
}

TEST_F(GrpcProcesses, GiveMemoryBackSoonAfterARunThatWasAbortedWhileTheOtherWasStopped) {
  auto large = end_.send(2, 1, {64 << 20});
  child_.stop();
  std::thread lane([&] { EXPECT_THROW(large->run(0), Aborted); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  large->abort.raised = true;
  lane.join();
  const std::int64_t begin = now_ns();
  large.reset();  // gRPC must not read the memory freed here
  EXPECT_LT((now_ns() - begin) / 1'000'000, 5000);
}

TEST_F(GrpcProcesses, GoOnAfterAShortStop) {
  child_.stop();
  std::thread waker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    child_.signal(SIGCONT);
  });
  echo(1);
  waker.join();
  echo(2);
}

TEST_F(GrpcProcesses, AreToldWhenThisOneCloses) {
  end_.exchange.close();
  EXPECT_EQ(child_.wait(), 0);
}

}  // namespace
}  // namespace regatta::comm

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "echo") return regatta::comm::echo(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
