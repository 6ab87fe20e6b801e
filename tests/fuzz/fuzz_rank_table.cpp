// Any bytes as a rank table or a hostfile: findings or an Error of kind config, never a crash; and
// what is valid survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "rendezvous/device_addresses.h"
#include "rendezvous/hostfile.h"
#include "rendezvous/rank_table.h"

namespace {

using namespace assay::rendezvous;

template <class F>
void config_errors_only(F&& f) {
  try {
    f();
  } catch (const assay::Error& error) {
    if (error.kind() != assay::ErrorKind::config) std::abort();
  }
}

void rank_table(std::string_view text) {
  const TableReading reading = parse_rank_table(text, "fuzz");
  for (const Finding& finding : reading.findings)
    if (to_string(finding).empty()) std::abort();
  if (!reading.readable() || !reading.table.completed) return;
  const assay::Json written = render_rank_table(reading.table, reading.form);
  const TableReading again = read_rank_table(written);
  if (!again.valid() || again.form != reading.form ||
      render_rank_table(again.table, again.form) != written)
    std::abort();
  for (const TableForm form : {TableForm::v1_0, TableForm::v1_2, TableForm::cloud, TableForm::lab})
    config_errors_only([&] { (void)render_rank_table(reading.table, form); });
}

void hostfile(std::string_view text) {
  const auto hosts = parse_hostfile(text, "fuzz", HostfileForm::horovod);
  if (parse_hostfile(render_hostfile(hosts, HostfileForm::horovod), "again") != hosts) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  config_errors_only([&] { rank_table(text); });
  config_errors_only([&] { hostfile(text); });
  config_errors_only([&] { (void)parse_hccn_conf(text, "fuzz"); });
  return 0;
}
