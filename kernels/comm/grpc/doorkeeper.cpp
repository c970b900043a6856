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
constexpr milliseconds kLook{500};               // at who has stayed too long
constexpr milliseconds kBreath{20};              // when there are no descriptors left
constexpr std::string_view kMapped = "::ffff:";  // an IPv4 address as IPv6

/// An address and a port as digits.
std::pair<std::string, std::string> digits_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
              port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  std::string text = host.data();
  if (text.starts_with(kMapped)) text.erase(0, kMapped.size());
  return {text, port.data()};
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

/// `code`: of errno.
RunError why_not_bound(const DoorOptions& options, int code) {
  ErrorKind kind = ErrorKind::Io;
  std::string advice;
  if (code == EADDRNOTAVAIL) {
    kind = ErrorKind::Usage;
    advice = "; it is no address of this machine; give --listen one that others reach it by";
  } else if (code == EADDRINUSE && options.port == 0) {
    advice = "; no port is free there: end what holds them, or widen net.ipv4.ip_local_port_range";
  }
  return {kind, "cannot listen at " + with_port(options.listen, options.port) + ": " +
                    std::strerror(code) + advice};
}

}  // namespace

std::string with_port(const std::string& address, int port) {
  const bool bare_ipv6 = address.find(':') != std::string::npos && address.front() != '[';
  return (bare_ipv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

Doorkeeper::Doorkeeper(const DoorOptions& options)
    : options_(options), listener_(bound_socket(options)), wake_(eventfd(0, EFD_CLOEXEC)) {
  if (listener_ < 0 || wake_ < 0) {
    const int code = errno;
    if (listener_ >= 0) ::close(listener_);
    if (wake_ >= 0) ::close(wake_);
    throw why_not_bound(options, code);
  }
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &size);
  address_ = with_port(options.listen, std::stoi(digits_of(own, size).second));
}

Doorkeeper::~Doorkeeper() {
  close();
  ::close(listener_);
  ::close(wake_);
}

void Doorkeeper::close() {
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  for (const Stranger& stranger : strangers_) ::close(stranger.descriptor);
  strangers_.clear();
}

void Doorkeeper::open(std::unique_ptr<Acceptor> acceptor) {
  acceptor_ = std::move(acceptor);
  thread_ = std::thread([this] { serve(); });
}

/// A wrong match by the same port on another host would only let a stranger stay.
void Doorkeeper::admit(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(strangers_, [&](const Stranger& stranger) {
    const bool same =
        peer.ends_with(":" + stranger.port) && peer.find(stranger.address) != std::string::npos;
    if (same) ::close(stranger.descriptor);
    return same;
  });
}

std::size_t Doorkeeper::strangers() const {
  const std::lock_guard lock(mutex_);
  return strangers_.size();
}

void Doorkeeper::serve() {
  for (;;) {
    std::array<pollfd, 2> awaited = {
        {{.fd = wake_, .events = POLLIN}, {.fd = listener_, .events = POLLIN}}};
    poll(awaited.data(), awaited.size(), static_cast<int>(kLook.count()));
    if (awaited[0].revents != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ >= kLook || strangers() >= options_.most_strangers) {
      looked_ = now;
      forget_those_who_went();
    }
    if (awaited[1].revents != 0) accept_one();
  }
}

void Doorkeeper::accept_one() {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  const int descriptor =
      accept4(listener_, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const int own = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    const bool exhausted = errno == EMFILE || errno == ENFILE;
    if (descriptor >= 0) ::close(descriptor);
    if (exhausted) std::this_thread::sleep_for(kBreath);
    return;
  }
  const int on = 1;
  const int limit_ms = static_cast<int>(options_.unsent_limit.count());
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof limit_ms);
  const auto [address, port] = digits_of(peer, size);
  {
    const std::lock_guard lock(mutex_);
    strangers_.push_back({.descriptor = own,
                          .address = address,
                          .port = port,
                          .since = std::chrono::steady_clock::now()});
    if (strangers_.size() > options_.most_strangers) {
      send_away(strangers_.front());
      strangers_.pop_front();
    }
  }
  Acceptor::NewConnectionParameters connection;
  connection.listener_fd = listener_;
  connection.fd = descriptor;
  acceptor_->HandleNewConnection(&connection);
}

/// Strangers that gRPC has let go, and those that have stayed too long.
void Doorkeeper::forget_those_who_went() {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(strangers_, [&](const Stranger& stranger) {
    pollfd state{.fd = stranger.descriptor, .events = 0};
    const bool gone = poll(&state, 1, 0) > 0;  // shut down on both ends, or broken
    if (gone) ::close(stranger.descriptor);
    if (gone || now - stranger.since < options_.patience) return gone;
    send_away(stranger);
    return true;
  });
}

/// gRPC hears of it as of any connection that ends.
void Doorkeeper::send_away(const Stranger& stranger) {
  shutdown(stranger.descriptor, SHUT_RDWR);
  ::close(stranger.descriptor);
}

}  // namespace regatta
