// SPDX-License-Identifier: Apache-2.0
//
// Push and pull between two processes on loopback: n bytes to the other, and n bytes back once all
// have arrived there. Three ways take turns in one run: blocking TCP sockets; the exchange with its
// kernels, over TCP and over a Unix socket. Prints a line for each size: the median of each way in
// microseconds, and the ratios of the others to TCP.
//   exchange_bench [BYTES...]
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "kernels/base/error.h"
#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/comm/grpc/unix_sockets.h"
#include "kernels/runtime/measure/clock.h"

extern char** environ;

namespace regatta::comm {
namespace {

constexpr int kWarmUp = 5;

int rounds_of(std::int64_t bytes) {
  return static_cast<int>(std::clamp<std::int64_t>(400'000'000 / bytes, 15, 1000));
}

/// One end of a connection that carries bytes in one of the three ways.
class Pipe {
 public:
  virtual ~Pipe() = default;
  virtual void send(const test::Bytes& from) = 0;
  virtual void receive(test::Bytes& to) = 0;
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

// Blocking TCP.

class TcpPipe final : public Pipe {
 public:
  explicit TcpPipe(int socket) : socket_(socket) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~TcpPipe() override { close(socket_); }
  void send(const test::Bytes& from) override {
    for (std::size_t done = 0; done < from.size();) {
      const ssize_t bytes = write(socket_, from.data() + done, from.size() - done);
      require(bytes > 0, "write");
      done += static_cast<std::size_t>(bytes);
    }
  }
  void receive(test::Bytes& to) override {
    for (std::size_t done = 0; done < to.size();) {
      const ssize_t bytes = read(socket_, to.data() + done, to.size() - done);
      require(bytes > 0, "read");
      done += static_cast<std::size_t>(bytes);
    }
  }

 private:
  int socket_;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A listening socket and its port.
std::pair<int, int> listen_tcp() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = loopback(0);
  require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
  require(listen(listener, 1) == 0, "listen");
  socklen_t length = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  return {listener, ntohs(address.sin_port)};
}

std::unique_ptr<Pipe> connect_tcp(int port) {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = loopback(port);
  require(connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "connect");
  return std::make_unique<TcpPipe>(connection);
}

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

std::vector<std::unique_ptr<Pipe>> exchange_pipes(test::End& end, int process,
                                                  const std::vector<std::int64_t>& sizes) {
  std::vector<std::unique_ptr<Pipe>> pipes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    pipes.push_back(std::make_unique<ExchangePipe>(end, process, static_cast<int>(i), sizes[i]));
  }
  return pipes;
}

// Two processes.

ExchangeOptions options_at(int process, const std::string& listen) {
  ExchangeOptions options = test::options_of(process, 2);
  options.listen = listen;
  return options;
}

/// Process 0: writes its ports to `to_parent` and sends back all that it receives, by every way.
/// `folder` is that of its Unix socket.
void echo(int to_parent, const std::string& folder, const std::vector<std::int64_t>& sizes) {
  test::End end(test::options_of(0, 2));
  test::End end_at_socket(options_at(0, folder));
  const auto pipes = exchange_pipes(end, 0, sizes);
  const auto pipes_at_socket = exchange_pipes(end_at_socket, 0, sizes);
  end_at_socket.exchange.serve();
  const auto [listener, tcp_port] = listen_tcp();
  const std::string exchange_port = end.exchange.serve();
  const std::string ports =
      std::to_string(tcp_port) + " " + exchange_port.substr(exchange_port.rfind(':') + 1) + "\n";
  require(write(to_parent, ports.data(), ports.size()) > 0, "write");
  const auto serve = [&](const std::function<Pipe&(std::size_t)>& pipe_of) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      test::Bytes bytes(static_cast<std::size_t>(sizes[i]));
      for (int round = 0; round < kWarmUp + rounds_of(sizes[i]); ++round) {
        pipe_of(i).receive(bytes);
        pipe_of(i).send(bytes);
      }
    }
  };
  std::thread tcp([&, accepting = listener] {
    TcpPipe pipe(accept(accepting, nullptr, nullptr));
    serve([&](std::size_t) -> Pipe& { return pipe; });
  });
  std::thread at_socket(
      [&] { serve([&](std::size_t i) -> Pipe& { return *pipes_at_socket[i]; }); });
  serve([&](std::size_t i) -> Pipe& { return *pipes[i]; });
  at_socket.join();
  tcp.join();
  std::_Exit(0);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Process 1: measures.
void measure(FILE* from_child, std::unique_ptr<SocketFolder> folder,
             const std::vector<std::int64_t>& sizes) {
  int ports[2] = {};
  require(std::fscanf(from_child, "%d %d", &ports[0], &ports[1]) == 2, "ports");
  const auto tcp = connect_tcp(ports[0]);
  test::End end(test::options_of(1, 2));
  const auto pipes = exchange_pipes(end, 1, sizes);
  end.exchange.connect(0, "127.0.0.1:" + std::to_string(ports[1]));
  test::End end_at_socket(options_at(1, folder->listen()));
  const auto pipes_at_socket = exchange_pipes(end_at_socket, 1, sizes);
  end_at_socket.exchange.connect(0, folder->listen() + "/rank0");
  folder.reset();
  std::printf("%10s %9s %12s %12s %15s %15s\n", "bytes", "tcp us", "exchange us", "at socket us",
              "exchange / tcp", "at socket / tcp");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    test::Bytes bytes(static_cast<std::size_t>(sizes[i]));
    Pipe* const ways[] = {tcp.get(), pipes[i].get(), pipes_at_socket[i].get()};
    std::vector<double> times[std::size(ways)];
    for (int round = 0; round < kWarmUp + rounds_of(sizes[i]); ++round) {
      for (std::size_t way = 0; way < std::size(ways); ++way) {
        const std::int64_t begin = now_ns();
        ways[way]->send(bytes);
        ways[way]->receive(bytes);
        if (round >= kWarmUp) times[way].push_back(static_cast<double>(now_ns() - begin) / 1e3);
      }
    }
    const double base = median(times[0]);
    const double exchange_us = median(times[1]), at_socket_us = median(times[2]);
    std::printf("%10lld %9.0f %12.0f %12.0f %15.2f %15.2f\n", static_cast<long long>(sizes[i]),
                base, exchange_us, at_socket_us, exchange_us / base, at_socket_us / base);
    std::fflush(stdout);
  }
  std::_Exit(0);
}

int run(int argc, char** argv) {
  const bool child = argc > 1 && std::string(argv[1]) == "echo";
  std::vector<std::int64_t> sizes;
  for (int i = child ? 3 : 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (child) echo(STDOUT_FILENO, argv[2], sizes);
  if (sizes.empty()) sizes = {1 << 10, 4 << 10, 1 << 20, 7'900'000, 16 << 20, 64 << 20};
  int ends[2];
  require(pipe(ends) == 0, "pipe");
  auto folder = std::make_unique<SocketFolder>();
  std::vector<std::string> texts = {"/proc/self/exe", "echo", folder->listen()};
  for (std::int64_t size : sizes) texts.push_back(std::to_string(size));
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  require(posix_spawn(&pid, texts[0].c_str(), &actions, nullptr, arguments.data(), environ) == 0,
          "spawn");
  measure(fdopen(ends[0], "r"), std::move(folder), sizes);
  return 0;
}

}  // namespace
}  // namespace regatta::comm

int main(int argc, char** argv) { return regatta::comm::run(argc, argv); }
