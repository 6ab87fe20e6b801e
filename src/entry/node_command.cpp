#include "entry/node_command.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/job_variables.h"
#include "core/json.h"
#include "core/process.h"
#include "core/text.h"
#include "entry/port_owner.h"

namespace assay::entry {

namespace {

std::string answer_line(const NodeAnswer& words) {
  return std::string(kAnswerMark) + dump_line(fields_to_json(words)) + "\n";
}

UniqueFd connect_loopback(int port) {
  const auto number = htons(static_cast<std::uint16_t>(port));
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = number;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = number;
  v6.sin6_addr = in6addr_loopback;
  const auto attempt = [](int family, const void* address, socklen_t size) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), static_cast<const sockaddr*>(address), size) == 0) return fd;
    return UniqueFd();
  };
  UniqueFd fd = attempt(AF_INET, &v4, sizeof v4);
  if (!fd) fd = attempt(AF_INET6, &v6, sizeof v6);
  const int on = 1;
  if (fd) ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

UniqueFd connect_to_port(const NodeRequest& request, const RankPlace& place) {
  if (request.port < 1 || request.port > 65535)
    throw Error(ErrorKind::usage, fmt::format("not a port: {}", request.port));
  UniqueFd fd = connect_loopback(request.port);
  if (!fd)
    throw Obstructed{
        {Obstacle::refused, fmt::format("nothing listens on port {} of the node", request.port)}};
  if (!port_belongs_to(request.round, place, request.port))
    throw Obstructed{
        {Obstacle::refused,
         fmt::format("the program that listens on port {} of the node is not the job's",
                     request.port)}};
  return fd;
}

// Sends the connection and the answer in one message.
void pass_on(const UniqueFd& connection) {
  std::string line = answer_line({});
  iovec text{line.data(), line.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &text;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = connection.get();
  std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (::sendmsg(STDOUT_FILENO, &message, 0) < 0)
    throw system_error(ErrorKind::environment, "cannot hand the connection over", "", errno);
}

bool write_bytes(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Carries bytes in both directions; each direction ends with its source.
void carry(const UniqueFd& connection) {
  std::array<char, 256U << 10> buffer{};
  // The last entry shows when nobody reads any more.
  std::array<pollfd, 3> from{
      {{STDIN_FILENO, POLLIN, 0}, {connection.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  const std::array<int, 2> to{connection.get(), STDOUT_FILENO};
  while (from[1].fd >= 0) {
    if (::poll(from.data(), from.size(), -1) < 0 && errno != EINTR) return;
    if ((from[2].revents & (POLLERR | POLLHUP)) != 0) return;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (from[i].fd < 0 || from[i].revents == 0) continue;
      const ssize_t n = ::read(from[i].fd, buffer.data(), buffer.size());
      if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n <= 0) {
        from[i].fd = -1;
        if (i == 0) ::shutdown(connection.get(), SHUT_WR);
        continue;
      }
      if (!write_bytes(to[i], {buffer.data(), static_cast<std::size_t>(n)})) return;
    }
  }
}

int connect(const NodeRequest& request, const RankPlace& place) {
  const UniqueFd connection = request.wanted == Wanted::port ? connect_to_port(request, place)
                                                             : connect_to_service(request, place);
  if (request.pass) {
    pass_on(connection);
    return 0;
  }
  answer({});
  carry(connection);
  return 0;
}

/// Becomes the agent in the rank's container, which handles the request there; the variable that
/// leads to the container is not set inside.
int enter_container(NodeRequest request, const RankPlace& place, const std::string& words) {
  const Json list = parse_json(words, std::string(kContainerVariable));
  std::vector<std::string> argv;
  for (const Json& word : list) {
    const auto text = word.get<std::string>();
    argv.push_back(text == "{pid}" ? std::to_string(place.pid) : text);
  }
  request.pass = false;  // a container passes bytes, not descriptors
  argv.insert(argv.end(), {"--enter", dump_line(fields_to_json(request))});
  const auto program = find_program(argv.front());  // uses this process's PATH, not the rank's
  if (!program)
    throw Obstructed{{Obstacle::failed, argv.front() + " is not installed on the node any more"}};
  argv.front() = *program;
  replace_process(argv, place.env);
}

int obey(const NodeRequest& request) {
  const auto place = find_place(request.round, request.pid);
  if (!place)
    throw Obstructed{{Obstacle::no_round, "what ran here has ended, or has not started yet"}};
  // Ports belong to the node, because jobs' containers share its network.
  const std::string container = place->variable(kContainerVariable);
  if (!container.empty() && request.wanted != Wanted::port)
    return enter_container(request, *place, container);
  share_processors(*place);
  switch (request.wanted) {
    case Wanted::port:
    case Wanted::service:
      return connect(request, *place);
    case Wanted::program:
      return run_program(request, *place);
    case Wanted::ssh:
      return serve_ssh(request, *place);
    case Wanted::curves:
      return take_curves(request);
  }
  return 0;
}

}  // namespace

void answer(const NodeAnswer& words) {
  (void)write_bytes(STDOUT_FILENO, answer_line(words));
}

int run_node_command(const std::string& request) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return obey(fields_from_json<NodeRequest>(parse_json(request, "--enter"), "--enter"));
  } catch (const Obstructed& obstructed) {
    answer(obstructed.answer);
  } catch (const Error& error) {
    answer({Obstacle::failed, printable(error.message())});
  }
  return 1;
}

}  // namespace assay::entry
