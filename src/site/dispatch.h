#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "serve/audit.h"
#include "serve/http_server.h"
#include "serve/worker_pool.h"
#include "site/platform_side.h"
#include "tester/api.h"

namespace assay::site {

/// Takes every request of a server to who answers it. A line of the audit log is written before
/// its answer is sent, never in the server's own thread: a disk that hangs keeps answers waiting,
/// but no stream, no terminal and nobody who connects.
class Dispatch {
 public:
  struct Parts {
    serve::AuditLog& audit;
    tester::Api& tester;
    PlatformSide* platform = nullptr;  ///< none: the server is the tester alone
    bool has_pages = false;            ///< else the first page is the tester's
    std::size_t connections = 0;       ///< that there can be at the same time
  };
  explicit Dispatch(const Parts& parts);
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;
  /// Finishes what is being answered, and drops what waits. The server's thread must have ended.
  ~Dispatch() = default;

  /// For HttpServer: in its thread; does not block.
  void take(serve::HttpRequest request, const serve::HttpServer::Respond& respond);
  /// Does what answers a request, and was not asked for by one: apart from the server's thread.
  void call(std::function<void()> task);
  /// From now on requests are told that the server is being stopped.
  void end() { ending_ = true; }

 private:
  // A request on its way. Whoever answers it may outlive the dispatch.
  struct Visit {
    serve::AuditLog& audit;
    serve::HttpRequest request;
    std::string who;
    serve::HttpServer::Respond respond;

    void answer(serve::HttpResponse response);
  };
  using VisitPtr = std::shared_ptr<Visit>;

  // In the server's thread.
  void refuse(const VisitPtr& visit, serve::HttpResponse response);
  void hand_to(serve::WorkerPool& pool, const VisitPtr& visit, std::function<void()> work);
  [[nodiscard]] std::function<void()> work_of(const VisitPtr& visit);

  Parts parts_;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> unwritten_ = false;
  // The last members: their threads use the others.
  serve::WorkerPool workers_;
  serve::WorkerPool doormen_;  // for what has to wait for others
  serve::WorkerPool clerk_;    // writes down what the server's own thread has answered
};

}  // namespace assay::site
