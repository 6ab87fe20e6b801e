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
    const Session::Rate up =
        session.measure(work, share, [&] { device.copy_(host, /*non_blocking=*/true); });
    const Session::Rate down =
        session.measure(work, share, [&] { host.copy_(device, /*non_blocking=*/true); });
    session.result(fmt::format("h2d_{}_bytes_per_s", kind), up.best * work.bytes);
    session.result(fmt::format("d2h_{}_bytes_per_s", kind), down.best * work.bytes);
  }
  session.result("megabytes", megabytes);
  return session.finish();
}

}  // namespace

workload::Workload transfer_workload() {
  return workload::single_workload("transfer", run_transfer);
}

}  // namespace assay::train
