// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/doorkeeper.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

using std::chrono::milliseconds;

constexpr int kBacklog = 256;
constexpr milliseconds kLook{500};          // between checks for strangers that stay too long
constexpr milliseconds kBreath{20};         // pause when there are no free descriptors
constexpr std::size_t kMostRequest = 1024;  // bytes
constexpr std::string_view kConnect = "CONNECT ";
constexpr std::string_view kHeader = "\r\nProxy-Authorization: Bearer ";
constexpr std::string_view kEndOfRequest = "\r\n\r\n";
constexpr std::string_view kWelcome = "HTTP/1.0 200 OK\r\n\r\n";
constexpr std::string_view kRefusal = "HTTP/1.0 407 Proxy Authentication Required\r\n\r\n";

int port_of(int descriptor) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size);
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, nullptr, 0, port.data(), port.size(),
              NI_NUMERICSERV);
  return std::stoi(port.data());
}

int bound_socket(const addrinfo& address) {
  const int descriptor = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(descriptor, kBacklog) == 0) {
    return descriptor;
  }
  close(descriptor);
  return -1;
}

int bound_socket(const DoorOptions& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  std::string host = options.listen;
  if (host.starts_with('[')) host = host.substr(1, host.find(']') - 1);
  const std::string port = std::to_string(options.port);
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) {
    errno = EADDRNOTAVAIL;
    return -1;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  return bound_socket(*found);
}

/// The error for a failed bind; `code` is its errno.
RunError why_not_bound(const DoorOptions& options, int code) {
  ErrorKind kind = ErrorKind::Io;
  std::string advice;
  if (code == EADDRNOTAVAIL) {
    kind = ErrorKind::Usage;
    advice = "; it is no address of this machine; fix: give --listen one that others reach it by";
  } else if (code == EADDRINUSE && options.port == 0) {
    advice =
        "; no port is free there; fix: end what holds them, or widen net.ipv4.ip_local_port_range";
  }
  return {kind, "cannot listen at " + with_port(options.listen, options.port) + ": " +
                    std::strerror(code) + advice};
}

}  // namespace

std::string with_port(const std::string& address, int port) {
  const bool bare_ipv6 = address.find(':') != std::string::npos && address.front() != '[';
  return (bare_ipv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

std::string door_key(std::string_view token) {
  return std::string(token.substr(0, token.size() / 2));
}

bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

/// The arguments' names are gRPC's (http_connect_handshaker.h); public headers do not declare them.
std::vector<std::pair<std::string, std::string>> door_arguments(const std::string& address,
                                                                std::string_view key) {
  return {{"grpc.http_connect_server", address},
          {"grpc.http_connect_headers", "Proxy-Authorization:Bearer " + std::string(key)}};
}

Doorkeeper::Doorkeeper(const DoorOptions& options)
    : options_(options), listener_(bound_socket(options)), wake_(eventfd(0, EFD_CLOEXEC)) {
  if (listener_ < 0 || wake_ < 0) {
    const int code = errno;
    if (listener_ >= 0) ::close(listener_);
    if (wake_ >= 0) ::close(wake_);
    throw why_not_bound(options, code);
  }
  address_ = with_port(options.listen, port_of(listener_));
}

Doorkeeper::~Doorkeeper() {
  close();
  ::close(listener_);
  ::close(wake_);
}

void Doorkeeper::close() {
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  for (Stranger& stranger : strangers_) send_away(stranger);
  strangers_.clear();
}

void Doorkeeper::open(std::unique_ptr<Acceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { serve(); });
}

void Doorkeeper::serve() {
  std::vector<pollfd> awaited;
  for (;;) {
    awaited = {{.fd = wake_, .events = POLLIN, .revents = 0},
               {.fd = listener_, .events = POLLIN, .revents = 0}};
    for (const Stranger& stranger : strangers_) {
      awaited.push_back({.fd = stranger.descriptor, .events = POLLIN, .revents = 0});
    }
    poll(awaited.data(), awaited.size(), static_cast<int>(kLook.count()));
    if (awaited[0].revents != 0) return;
    for (std::size_t i = 0; i < strangers_.size(); ++i) {
      if (awaited[i + 2].revents != 0) hear(strangers_[i]);
    }
    const auto latest = std::chrono::steady_clock::now() - options_.patience;
    for (Stranger& stranger : strangers_) {
      if (stranger.descriptor >= 0 && stranger.since < latest) send_away(stranger);
    }
    if (awaited[1].revents != 0) accept_one();
    std::erase_if(strangers_, [](const Stranger& each) { return each.descriptor < 0; });
    stranger_count_ = strangers_.size();
  }
}

void Doorkeeper::accept_one() {
  const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (descriptor < 0) {
    const bool exhausted = errno == EMFILE || errno == ENFILE;
    if (exhausted) std::this_thread::sleep_for(kBreath);
    return;
  }
  strangers_.push_back(
      {.descriptor = descriptor, .said = "", .since = std::chrono::steady_clock::now()});
  if (strangers_.size() > options_.most_strangers) send_away(strangers_.front());
}

/// Reads a stranger's request, and nothing after it: a client sends no more before the answer.
void Doorkeeper::hear(Stranger& stranger) {
  std::array<char, kMostRequest> piece{};
  const std::size_t room = kMostRequest - stranger.said.size();
  const ssize_t got = recv(stranger.descriptor, piece.data(), room, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) stranger.said.append(piece.data(), static_cast<std::size_t>(got));
  const Judgement judgement = got > 0 ? judge(stranger) : Judgement::MustGo;
  if (judgement == Judgement::MayComeIn) let_in(stranger);
  if (judgement == Judgement::MustGo) send_away(stranger);
}

Doorkeeper::Judgement Doorkeeper::judge(const Stranger& stranger) const {
  const std::string_view said = stranger.said;
  if (!said.starts_with(std::string_view(kConnect).substr(0, said.size()))) {
    return Judgement::MustGo;
  }
  if (!said.ends_with(kEndOfRequest)) {
    return said.size() < kMostRequest ? Judgement::Waits : Judgement::MustGo;
  }
  const std::size_t header = said.find(kHeader);
  if (header == said.npos) return Judgement::MustGo;
  const std::string_view rest = said.substr(header + kHeader.size());
  const bool right =
      !options_.key.empty() && same_secret(rest.substr(0, rest.find('\r')), options_.key);
  return right ? Judgement::MayComeIn : Judgement::MustGo;
}

void Doorkeeper::let_in(Stranger& stranger) {
  const int descriptor = std::exchange(stranger.descriptor, -1);
  const int on = 1;
  const int limit_ms = static_cast<int>(options_.unsent_limit.count());
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  send(descriptor, kWelcome.data(), kWelcome.size(), MSG_NOSIGNAL);
  Acceptor::NewConnectionParameters connection;
  connection.listener_fd = listener_;
  connection.fd = descriptor;
  acceptor_->HandleNewConnection(&connection);
}

void Doorkeeper::send_away(Stranger& stranger) {
  const int descriptor = std::exchange(stranger.descriptor, -1);
  if (descriptor < 0) return;
  send(descriptor, kRefusal.data(), kRefusal.size(), MSG_NOSIGNAL);
  shutdown(descriptor, SHUT_WR);
  ::close(descriptor);
}

}  // namespace regatta
