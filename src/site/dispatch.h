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

/// Takes every request of a server to the code that answers it. The line of the audit log is
/// written before the answer is sent, but never in the server's own thread: a disk that hangs
/// delays answers, but not streams, terminals and new connections.
class Dispatch {
 public:
  struct Parts {
    serve::AuditLog& audit;
    tester::Api& tester;
    PlatformSide* platform = nullptr;  ///< null: the server is only the tester
    bool has_pages = false;            ///< otherwise the first page is the tester's
    std::size_t connections = 0;       ///< the most at the same time
  };
  explicit Dispatch(const Parts& parts);
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;
  /// Finishes the requests that are being answered and drops those that wait. The server's thread
  /// must have ended.
  ~Dispatch() = default;

  /// HttpServer calls this in its thread. Does not block.
  void take(serve::HttpRequest request, const serve::HttpServer::Respond& respond);
  /// Runs a task that belongs to no request, outside the server's thread.
  void call(std::function<void()> task);
  /// From now on, answers requests with the message that the server is stopping.
  void end() { ending_ = true; }

 private:
  // A request in progress. The code that answers it may outlive the dispatch.
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
  // These are last, because their threads use the other members.
  serve::WorkerPool workers_;
  serve::WorkerPool doormen_;  // for requests that wait for other machines
  serve::WorkerPool clerk_;    // logs the answers of the server's own thread
};

}  // namespace assay::site
