#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/json_fields.h"
#include "core/time.h"

namespace assay::agent {

// A large file that hosts pass on to each other (agent/messages.h): a host that has it offers it
// at a port for whoever shows a token, another one fetches it. Whatever comes is compared with the
// hashes that the controller gave.

/// What a file must be: pieces of `piece_bytes`, of which the last may be shorter.
struct FileContent {
  std::uint64_t size = 0;
  std::uint64_t piece_bytes = 0;
  std::vector<std::string> pieces{};  ///< SHA-256 of each

  static void fields(auto& self, auto&& field) {
    field("size", self.size);
    field("piece_bytes", self.piece_bytes);
    field("pieces", self.pieces);
  }
};

/// Why a file did not come from where it was to be fetched.
enum class FetchFault {
  none,
  unreachable,  ///< no connection
  broken,       ///< the connection ended before the file did
  slow,         ///< a piece took too long, or the whole
  damaged,      ///< a piece has another hash
  own,          ///< on the fetching side: the disk, or somebody else writes the same file
};

constexpr auto enum_names(FetchFault) {
  using enum FetchFault;
  return std::to_array<EnumName<FetchFault>>({{none, "none"},
                                              {unreachable, "unreachable"},
                                              {broken, "broken"},
                                              {slow, "slow"},
                                              {damaged, "damaged"},
                                              {own, "own"}});
}

/// Answer to OfferFileRequest.
struct FileOffered {
  static constexpr const char* kType = "file_offered";
  int port = 0;
  std::string problem{};  ///< empty: it is offered

  static void fields(auto& self, auto&& field) {
    field("port", self.port);
    field.optional("problem", self.problem);
  }
};

/// Answer to FetchFileRequest.
struct FileFetched {
  static constexpr const char* kType = "file_fetched";
  std::uint64_t have = 0;   ///< bytes that are there and right
  std::uint64_t moved = 0;  ///< of them, those that came now
  FetchFault fault = FetchFault::none;
  std::string problem{};

  static void fields(auto& self, auto&& field) {
    field("have", self.have);
    field("moved", self.moved);
    field("fault", self.fault);
    field.optional("problem", self.problem);
  }
};

/// Once a second while a file is fetched.
struct FetchProgress {
  static constexpr const char* kType = "fetch_progress";
  std::uint64_t have = 0;

  static void fields(auto& self, auto&& field) { field("have", self.have); }
};

/// Offer this file at a free port of `address`, until `limit` is over, it is withdrawn or the agent
/// ends.
struct OfferFileRequest {
  static constexpr const char* kType = "offer_file";
  using Answer = FileOffered;
  std::filesystem::path path;
  std::uint64_t size = 0;  ///< that it must have
  std::string address;     ///< numeric, of this host
  std::string token;       ///< who shows it gets the file
  Nanoseconds limit{};

  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("size", self.size);
    field("address", self.address);
    field("token", self.token);
    field("limit_ns", self.limit);
  }
};

/// Get the file from another host. What is there and right already stays, what is right stays for
/// the next attempt.
struct FetchFileRequest {
  static constexpr const char* kType = "fetch_file";
  using Answer = FileFetched;
  std::filesystem::path path;
  FileContent content;
  std::string address;  ///< numeric
  int port = 0;
  std::string token;
  Nanoseconds limit{};

  static void fields(auto& self, auto&& field) {
    field("path", self.path);
    field("content", self.content);
    field("address", self.address);
    field("port", self.port);
    field("token", self.token);
    field("limit_ns", self.limit);
  }
};

/// Nobody needs the file any more: the port is closed, and the file removed.
struct WithdrawFileRequest {
  static constexpr const char* kType = "withdraw_file";
  std::filesystem::path path;

  static void fields(auto& self, auto&& field) { field("path", self.path); }
};

}  // namespace assay::agent
