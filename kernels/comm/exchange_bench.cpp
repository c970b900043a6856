// SPDX-License-Identifier: Apache-2.0
//
// Push and pull between two processes: n bytes to the other and n bytes back, when they have all
// arrived there. Four ways, in turn in one run: blocking TCP sockets; a gRPC stream of ByteBuffers
// as plain as can be, a chunk at a time; the exchange with its kernels; two exchanges, each with a
// connection and a thread of its own and half of the bytes. Prints a line a size: the median of
// each in microseconds, and the others beside TCP.
//   exchange_bench [--rounds N] [--on HOST REMOTE_SHELL] [BYTES...]
// On loopback; or with the other process on HOST, an address that REMOTE_SHELL HOST COMMAND starts
// it at:
//   ci/hosts 2 1000 5 sh -c 'exchange_bench --on 10.77.0.2 $OMPI_MCA_plm_rsh_agent 7900000'
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <functional>
#include <iterator>
#include <span>
#include <thread>

#include "kernels/comm/plain_pipes_bench.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/clock.h"

extern char** environ;

namespace regatta::bench {
namespace {

constexpr int kWarmUp = 5;

struct Options {
  std::string host = "127.0.0.1";  ///< where the other process listens
  std::string remote_shell;        ///< that starts it; empty: here
  int rounds = 0;                  ///< 0: by size
  bool echoes = false;             ///< this is the other process
  std::vector<std::int64_t> sizes;

  int rounds_of(std::int64_t bytes) const {
    if (rounds > 0) return rounds;
    return static_cast<int>(std::clamp<std::int64_t>(400'000'000 / bytes, 15, 1000));
  }
};

// The exchange: a message each way for each size.

class ExchangePipe final : public Pipe {
 public:
  ExchangePipe(test::End& end, int process, int index, std::int64_t bytes)
      : send_(end.send(2 * index + process, 1 - process, {bytes})),
        receive_(end.receive(2 * index + 1 - process, 1 - process, {bytes})) {}
  void send(const test::Bytes&) override { send_->run(sent_++); }
  void receive(test::Bytes&) override { receive_->run(received_++); }

 private:
  std::unique_ptr<test::MessageEnd> send_, receive_;
  std::int64_t sent_ = 0, received_ = 0;
};

/// Two at the same time.
class PairOfPipes final : public Pipe {
 public:
  PairOfPipes(std::unique_ptr<Pipe> first, std::unique_ptr<Pipe> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  void send(const test::Bytes& from) override {
    std::thread other([&] { second_->send(from); });
    first_->send(from);
    other.join();
  }
  void receive(test::Bytes& to) override {
    std::thread other([&] { second_->receive(to); });
    first_->receive(to);
    other.join();
  }

 private:
  std::unique_ptr<Pipe> first_, second_;
};

/// One process' ends of the exchange's two ways.
class Exchanges {
 public:
  Exchanges(int process, const Options& options) {
    for (int i = 0; i < 3; ++i) {
      ExchangeOptions own = test::options_of(process, 2);
      own.listen = options.host;
      ends_.push_back(std::make_unique<test::End>(own));
    }
    for (std::size_t i = 0; i < options.sizes.size(); ++i) {
      const auto pipe = [&](std::size_t end, std::int64_t bytes) {
        return std::make_unique<ExchangePipe>(*ends_[end], process, static_cast<int>(i), bytes);
      };
      const std::int64_t half = options.sizes[i] / 2;
      one_.push_back(pipe(0, options.sizes[i]));
      two_.push_back(
          std::make_unique<PairOfPipes>(pipe(1, half), pipe(2, options.sizes[i] - half)));
    }
  }
  std::vector<int> serve() {
    std::vector<int> ports;
    for (const auto& end : ends_) {
      const std::string address = end->exchange.serve();
      ports.push_back(std::stoi(address.substr(address.rfind(':') + 1)));
    }
    return ports;
  }
  void connect(const std::string& host, std::span<const int> ports) {
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      ends_[i]->exchange.connect(0, host + ":" + std::to_string(ports[i]));
    }
  }
  Pipe& one(std::size_t size) { return *one_[size]; }
  Pipe& two(std::size_t size) { return *two_[size]; }

 private:
  std::vector<std::unique_ptr<test::End>> ends_;
  std::vector<std::unique_ptr<Pipe>> one_, two_;  ///< by size
};

// Two processes.

/// Process 0: sends back everything that comes, by whatever way. Prints its ports.
void echo(const Options& options) {
  Exchanges exchanges(0, options);
  PlainServer plain(options.host);
  const auto [listener, tcp_port] = listen_tcp(options.host);
  std::printf("%d %d", tcp_port, plain.port);
  for (int port : exchanges.serve()) std::printf(" %d", port);
  std::printf("\n");
  std::fflush(stdout);
  const auto serve = [&](const std::function<Pipe&(std::size_t)>& pipe_of) {
    for (std::size_t i = 0; i < options.sizes.size(); ++i) {
      test::Bytes bytes(static_cast<std::size_t>(options.sizes[i]));
      for (int round = 0; round < kWarmUp + options.rounds_of(options.sizes[i]); ++round) {
        pipe_of(i).receive(bytes);
        pipe_of(i).send(bytes);
      }
    }
  };
  std::thread tcp([&, listener = listener] {
    TcpPipe pipe(accept(listener, nullptr, nullptr));
    serve([&](std::size_t) -> Pipe& { return pipe; });
  });
  std::thread plain_stream([&] {
    const auto pipe = plain.accept();
    serve([&](std::size_t) -> Pipe& { return *pipe; });
  });
  std::thread two([&] { serve([&](std::size_t i) -> Pipe& { return exchanges.two(i); }); });
  serve([&](std::size_t i) -> Pipe& { return exchanges.one(i); });
  two.join();
  tcp.join();
  plain_stream.join();
  std::_Exit(0);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Process 1: measures.
void measure(FILE* from_child, const Options& options) {
  int ports[5] = {};
  for (int& port : ports) require(std::fscanf(from_child, "%d", &port) == 1, "ports");
  const auto tcp = connect_tcp(options.host, ports[0]);
  PlainClient plain(options.host, ports[1]);
  Exchanges exchanges(1, options);
  exchanges.connect(options.host, std::span(ports).subspan(2));
  std::printf("%10s %10s %10s %10s %10s %12s %14s %9s\n", "bytes", "tcp us", "plain us",
              "exchange us", "two us", "plain / tcp", "exchange / tcp", "two / tcp");
  for (std::size_t i = 0; i < options.sizes.size(); ++i) {
    test::Bytes bytes(static_cast<std::size_t>(options.sizes[i]));
    Pipe* const ways[] = {tcp.get(), plain.pipe.get(), &exchanges.one(i), &exchanges.two(i)};
    std::vector<double> times[std::size(ways)];
    for (int round = 0; round < kWarmUp + options.rounds_of(options.sizes[i]); ++round) {
      for (std::size_t way = 0; way < std::size(ways); ++way) {
        const std::int64_t begin = now_ns();
        ways[way]->send(bytes);
        ways[way]->receive(bytes);
        if (round >= kWarmUp) times[way].push_back(static_cast<double>(now_ns() - begin) / 1e3);
      }
    }
    const double base = median(times[0]);
    std::printf("%10lld", static_cast<long long>(options.sizes[i]));
    for (const auto& own : times) std::printf(" %10.0f", median(own));
    std::printf(" %12.2f %14.2f %9.2f\n", median(times[1]) / base, median(times[2]) / base,
                median(times[3]) / base);
    std::fflush(stdout);
  }
  std::_Exit(0);
}

Options options_in(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--rounds" && i + 1 < argc) {
      options.rounds = std::atoi(argv[++i]);
    } else if (word == "--on" && i + 2 < argc) {
      options.host = argv[++i];
      options.remote_shell = argv[++i];
    } else if (word == "--echo" && i + 1 < argc) {
      options.echoes = true;
      options.host = argv[++i];
    } else {
      options.sizes.push_back(std::atoll(argv[i]));
      require(options.sizes.back() > 1, "usage: see the head of exchange_bench.cpp");
    }
  }
  if (options.sizes.empty()) {
    options.sizes = {1 << 10, 4 << 10, 1 << 20, 7'900'000, 16 << 20, 64 << 20};
  }
  return options;
}

/// This program as the other process; its output.
FILE* start_echo(const Options& options) {
  int ends[2];
  require(pipe(ends) == 0, "pipe");
  std::array<char, 4096> self{};
  require(readlink("/proc/self/exe", self.data(), self.size() - 1) > 0, "readlink");
  std::vector<std::string> texts;
  if (!options.remote_shell.empty()) texts = {options.remote_shell, options.host};
  texts.insert(texts.end(),
               {self.data(), "--echo", options.host, "--rounds", std::to_string(options.rounds)});
  for (std::int64_t size : options.sizes) texts.push_back(std::to_string(size));
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  require(posix_spawn(&pid, texts[0].c_str(), &actions, nullptr, arguments.data(), environ) == 0,
          "spawn");
  return fdopen(ends[0], "r");
}

int run(int argc, char** argv) {
  const Options options = options_in(argc, argv);
  if (options.echoes) echo(options);
  measure(start_echo(options), options);
  return 0;
}

}  // namespace
}  // namespace regatta::bench

int main(int argc, char** argv) { return regatta::bench::run(argc, argv); }
