#include <fmt/format.h>

#include "core/error.h"
#include "train/micro/session.h"

namespace assay::train {

namespace {

struct TransferSettings {
  double megabytes;
  SessionSettings session;

  explicit TransferSettings(workload::Options& options)
      : megabytes(options.number("megabytes", 256, 0.001, 1 << 16, "of one copy")),
        session(options) {
    options.reject_unknown();
  }
};

int run_transfer(const TransferSettings& settings, const workload::Place& place,
                 perflog::Writer& log) {
  const double megabytes = settings.megabytes;
  Session session(settings.session, place, log);
  if (!session.device().is_cuda())
    throw Error(ErrorKind::environment, "copies between host and device need a CUDA device",
                "transfer", "this machine has none that can be used; membw measures its memory");
  const auto count = static_cast<std::int64_t>(megabytes * 1e6);
  const auto bytes = torch::TensorOptions(torch::kByte);
  const torch::Tensor device = torch::zeros({count}, bytes.device(session.device()));
  session.start();
  Session::Work work;
  work.bytes = static_cast<double>(count);
  const double share = session.budget() / 4;
  for (const bool pinned : {true, false}) {
    const torch::Tensor host = torch::zeros({count}, bytes.pinned_memory(pinned));
    const char* const kind = pinned ? "pinned" : "pageable";
    const auto copy = [&](const char* way, const torch::Tensor& to, const torch::Tensor& from) {
      work.name = fmt::format("{}_{}", way, kind);
      session.bandwidth(work.name, work.bytes, session.measure(work, share, [&] {
        to.copy_(from, /*non_blocking=*/true);
      }));
    };
    copy("h2d", device, host);
    copy("d2h", host, device);
  }
  session.result("megabytes", megabytes);
  return session.finish();
}

}  // namespace

workload::Workload transfer_workload() {
  return workload::single_workload("transfer", run_transfer);
}

}  // namespace assay::train
