#include "serve/http_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <restinio/router/express.hpp>

#include "core/error.h"
#include "core/text.h"
#include "http/url.h"
#include "serve/hand_over.h"
#include "serve/http_status.h"
#include "serve/log.h"
#include "serve/refusal.h"
#include "serve/stream_out.h"
#include "serve/watched_socket.h"

namespace assay::serve {

namespace {

template <class Socket>
struct WatchedTraits
    : restinio::traits_t<restinio::asio_timer_manager_t, restinio::null_logger_t,
                         restinio::default_request_handler_t, restinio::default_strand_t, Socket> {
  static constexpr bool use_connection_count_limiter = true;
};
using PlainTraits = WatchedTraits<PlainSocket>;
using TlsTraits = WatchedTraits<TlsSocket>;

// A connection begins here: RESTinio finds these by their arguments.
template <class Start, class Failed>
void prepare_connection_and_start_read(PlainSocket& socket,
                                       restinio::impl::connection_t<PlainTraits>& connection,
                                       Start start, Failed /*failed*/) {
  socket.watch(connection.connection_id());
  start();
}

// Somebody has typed http:// instead of https://.
bool is_plain_http(const asio::error_code& ec) {
  return ec.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(ec.value())) == SSL_R_HTTP_REQUEST;
}
const HeadFault kPlainHttp{400, "this port speaks HTTPS: begin the address with https://"};

// RESTinio does not limit the time of a handshake.
constexpr std::chrono::seconds kHandshakeLimit{10};

template <class Start, class Failed>
void prepare_connection_and_start_read(TlsSocket& socket,
                                       restinio::impl::connection_t<TlsTraits>& connection,
                                       Start start, Failed failed) {
  socket.watch(connection.connection_id());
  auto self = connection.shared_from_this();
  auto timer = std::make_shared<asio::steady_timer>(socket.get_executor(), kHandshakeLimit);
  timer->async_wait([self, &socket](const asio::error_code& stopped) {
    asio::error_code ignored;
    if (!stopped) socket.lowest_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  });
  socket.async_handshake(asio::ssl::stream_base::server,
                         [self, &socket, timer, start, failed](const asio::error_code& ec) mutable {
                           timer->cancel();
                           if (is_plain_http(ec)) socket.say_plainly(kPlainHttp);
                           if (ec)
                             failed(ec);
                           else
                             start();
                         });
}

// Counts a request from its arrival until its answer was sent, or its connection is gone.
struct Unanswered {
  explicit Unanswered(std::atomic<std::size_t>& of) : count(of) { ++count; }
  Unanswered(const Unanswered&) = delete;
  Unanswered& operator=(const Unanswered&) = delete;
  ~Unanswered() { --count; }
  std::atomic<std::size_t>& count;
};

template <class Reply>
void complete(Reply& reply, const HttpResponse& response, bool last, std::function<void()> sent) {
  reply.append_header(restinio::http_field::content_type, response.type);
  for (const auto& [name, value] : response.headers) reply.append_header(name, value);
  if (last) reply.connection_close();
  reply.done([sent = std::move(sent)](const asio::error_code&) { sent(); });
}

restinio::http_status_line_t status_line(int status) {
  return {restinio::http_status_code_t{static_cast<std::uint16_t>(status)},
          std::string(reason_of(status))};
}

// `last`: the connection is closed after it.
void send(const restinio::request_handle_t& request, const HttpResponse& response, bool last,
          std::function<void()> sent) {
  const restinio::http_status_line_t status = status_line(response.status);
  if (request->header().method() == restinio::http_method_head()) {
    // The length is that of what GET would answer.
    auto reply = request->create_response<restinio::user_controlled_output_t>(status);
    reply.set_content_length(response.body.size());
    complete(reply, response, last, std::move(sent));
    return;
  }
  auto reply = request->create_response(status);
  reply.set_body(response.body);
  complete(reply, response, last, std::move(sent));
}

HttpResponse too_many_streams() {
  Refusal busy(503, "busy", "too many streams are open");
  busy.retry_after_s = 5;
  return response_of(busy);
}

HttpRequest taken_from(const restinio::request_handle_t& request) {
  HttpRequest out;
  out.method = request->header().method().c_str();
  out.path = std::string(request->header().path());
  out.query = std::string(request->header().query());
  request->header().for_each_field([&](const restinio::http_header_field_t& field) {
    std::string& value = out.headers[to_lower(field.name())];
    if (!value.empty()) value += ", ";
    value += field.value();
  });
  out.body = request->body();
  out.address = request->remote_endpoint().address().to_string();
  return out;
}

std::shared_ptr<asio::ssl::context> tls_context(TlsIdentity& identity) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                       asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression);
  identity.serve(context->native_handle());
  return context;
}

using Accept = std::function<restinio::request_handling_status_t(
    const restinio::request_handle_t&, std::string route, std::vector<std::string> parameters)>;

// Finds the route of a request; the handler does the rest.
std::function<restinio::request_handling_status_t(restinio::request_handle_t)> router_of(
    const std::vector<std::string>& routes, const Accept& accept) {
  auto router = std::make_shared<restinio::router::express_router_t<>>();
  for (const std::string& route : routes)
    router->add_handler(restinio::router::none_of_methods(restinio::http_method_unknown()), route,
                        restinio::path2regex::options_t{}.sensitive(true),
                        [accept, route](const restinio::request_handle_t& request,
                                        const restinio::router::route_params_t& found) {
                          std::vector<std::string> parameters;
                          for (std::size_t i = 0; i < found.indexed_parameters_size(); ++i)
                            parameters.push_back(http::percent_decode(std::string_view(found[i])));
                          return accept(request, route, std::move(parameters));
                        });
  router->non_matched_request_handler(
      [accept](const restinio::request_handle_t& request) { return accept(request, "", {}); });
  return [router](const restinio::request_handle_t& request) { return (*router)(request); };
}

}  // namespace

struct HttpServer::Engine {
  explicit Engine(const ConnectionLimits& limits) : io(limits), sweep(io) {}
  virtual ~Engine() = default;
  virtual void open() = 0;
  virtual void close() = 0;
  std::shared_ptr<TlsIdentity> tls;  // before the connections that use it
  std::uint16_t port = 0;
  std::atomic<std::size_t> unanswered = 0;  // before what holds the requests
  Loop io;
  asio::steady_timer sweep;
  std::mutex streams_lock;
  std::vector<std::weak_ptr<StreamOut>> streams;
  std::jthread thread;

  // `old`: it is HTTP/1.0.
  void begin_stream(const restinio::request_handle_t& request, bool old,
                    const HttpResponse& response, std::shared_ptr<void> counted) {
    const auto streamed = [&](auto builder) {
      builder.append_header("Content-Type", response.type);
      for (const auto& [name, value] : response.headers) builder.append_header(name, value);
      if (!response.body.empty()) builder.append_chunk(response.body);
      return std::make_shared<StreamOut>(std::move(builder), response.streaming,
                                         std::move(counted));
    };
    const restinio::http_status_line_t status = status_line(response.status);
    const auto stream =
        old ? streamed(BareOutput(request, status))
            : streamed(
                  request->create_response<restinio::chunked_output_t>(status).connection_close());
    {
      const std::scoped_lock lock(streams_lock);
      streams.push_back(stream);
    }
    stream->begin();
    response.streaming.begin(stream);
  }

  [[nodiscard]] std::vector<std::shared_ptr<StreamOut>> open_streams() {
    const std::scoped_lock lock(streams_lock);
    std::erase_if(streams, [](const auto& stream) { return stream.expired(); });
    std::vector<std::shared_ptr<StreamOut>> out;
    for (const auto& stream : streams)
      if (auto one = stream.lock()) out.push_back(std::move(one));
    return out;
  }

  void sweep_later() {
    sweep.expires_after(std::chrono::milliseconds(500));
    sweep.async_wait([this](const asio::error_code& stopped) {
      if (stopped) return;
      sweep_later();
      io.hang_up_overdue();
      const std::int64_t now_ns = mono_now_ns();
      for (const auto& stream : open_streams()) stream->show_life(now_ns);
    });
  }
};

template <class Traits>
struct HttpServer::EngineOf : HttpServer::Engine {
  EngineOf(const HttpOptions& options, Handler handler)
      : Engine(options.connections),
        server(
            restinio::external_io_context(static_cast<asio::io_context&>(this->io)),
            [&](auto& settings) {
              settings.address(asio::ip::make_address(options.address))
                  .port(options.port)
                  .read_next_http_message_timelimit(options.read_timeout)
                  .write_http_response_timelimit(options.read_timeout)
                  .handle_request_timeout(options.handling_timeout)
                  // Who comes is let in, and makes room by displacing another.
                  .max_parallel_connections(options.connections.total +
                                            options.connections.streams + 16)
                  .max_pipelined_requests(1)
                  .buffer_size(64 << 10)
                  .incoming_http_msg_limits(restinio::incoming_http_msg_limits_t{}
                                                .max_url_size(kMaxTarget)
                                                .max_field_name_size(kMaxHeaderName)
                                                .max_field_value_size(kMaxHeaderValue)
                                                .max_field_count(kMaxHeaders)
                                                .max_body_size(options.max_body))
                  .acceptor_options_setter([](auto& acceptor) {
                    acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true));
                  })
                  .socket_options_setter(
                      [](auto& socket) { socket.set_option(asio::ip::tcp::no_delay(true)); })
                  .acceptor_post_bind_hook([this](asio::ip::tcp::acceptor& acceptor) {
                    port = acceptor.local_endpoint().port();
                  })
                  .request_handler(router_of(
                      options.routes, [this, handler = std::move(handler)](
                                          const restinio::request_handle_t& request,
                                          std::string route, std::vector<std::string> parameters) {
                        const std::uint64_t id = request->connection_id();
                        const auto [fault, last] = this->io.asked(id);
                        const Respond respond =
                            [this, request, id, loop = &this->io, last = last, old = fault.old,
                             counted = std::make_shared<Unanswered>(this->unanswered)](
                                const HttpResponse& response) {
                              if (response.take_over) {
                                give_away(request, response.take_over);
                                return;
                              }
                              const bool head =
                                  request->header().method() == restinio::http_method_head();
                              if (response.streaming.begin && !head) {
                                if (loop->streams(id)) {
                                  this->begin_stream(request, old, response, counted);
                                  return;
                                }
                                send(request, too_many_streams(), last,
                                     [loop, id, counted] { loop->answered(id); });
                                return;
                              }
                              send(request, response, last,
                                   [loop, id, counted] { loop->answered(id); });
                            };
                        HttpRequest taken = taken_from(request);
                        taken.fault = fault;
                        taken.is_old = fault.old;
                        taken.route = std::move(route);
                        taken.parameters = std::move(parameters);
                        handler(std::move(taken), respond);
                        return restinio::request_accepted();
                      }));
              if constexpr (std::is_same_v<Traits, TlsTraits>)
                settings.tls_context(tls_context(*options.tls));
            }) {}
  // In the loop: nothing reads the socket while its request is not answered.
  void give_away(const restinio::request_handle_t& request, std::function<void(UniqueFd)> take) {
    asio::post(static_cast<asio::io_context&>(this->io), [request, take = std::move(take)] {
      const auto connection = std::move(restinio::impl::access_req_connection(*request));
      if (!connection) return;
      auto& own = dynamic_cast<restinio::impl::connection_t<Traits>&>(*connection);
      auto internals = own.move_upgrade_internals();
      hand_over(std::move(internals.m_socket), take);
    });
  }
  void open() override { server.open_sync(); }
  void close() override { server.close_sync(); }

  restinio::http_server_t<Traits> server;
};

std::string HttpRequest::header(const std::string& lower_name) const {
  const auto found = headers.find(lower_name);
  return found == headers.end() ? std::string() : found->second;
}

HttpServer::HttpServer(const HttpOptions& options, Handler handler) {
  try {
    if (options.tls)
      engine_ = std::make_unique<EngineOf<TlsTraits>>(options, std::move(handler));
    else
      engine_ = std::make_unique<EngineOf<PlainTraits>>(options, std::move(handler));
    engine_->tls = options.tls;
    engine_->open();
  } catch (const std::system_error& error) {
    throw Error(ErrorKind::environment, error.code().message(),
                fmt::format("{} port {}", options.address, options.port),
                "another program may listen there: give another " + options.option);
  }
}

void HttpServer::start() {
  engine_->thread = std::jthread([engine = engine_.get()] {
    const auto work = asio::make_work_guard(static_cast<asio::io_context&>(engine->io));
    engine->sweep_later();
    for (;;) {
      try {
        engine->io.run();
        return;
      } catch (const std::exception& error) {
        // One connection's: there was no memory for it, say. The others go on.
        log_error(fmt::format("a connection failed: {}", error.what()));
      }
    }
  });
}

HttpServer::~HttpServer() {
  stop();
  for (const auto& stream : engine_->open_streams()) stream->abandon();
  engine_->io.drop_handlers();
}

void HttpServer::stop() {
  engine_->io.stop();
  if (engine_->thread.joinable()) engine_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return engine_->port;
}

void HttpServer::close() {
  std::promise<void> done;
  asio::post(engine_->io, [&] {
    engine_->close();
    done.set_value();
  });
  done.get_future().wait();
}

void HttpServer::end_streams() {
  for (const auto& stream : engine_->open_streams()) stream->end();
}

std::size_t HttpServer::unanswered() const {
  return engine_->unanswered;
}

void HttpServer::call_after(std::chrono::milliseconds delay, std::function<void()> task) {
  auto timer = std::make_shared<asio::steady_timer>(engine_->io, delay);
  timer->async_wait([timer, task = std::move(task)](const asio::error_code& stopped) {
    if (!stopped) task();
  });
}

}  // namespace assay::serve
