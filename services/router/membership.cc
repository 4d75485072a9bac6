#include "services/router/membership.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace sightline {
namespace {

constexpr absl::string_view kScheme = "dns:///";

struct HostAndPort {
  std::string host;
  std::string port;
};

// Of an entry, with its scheme or without; both empty if there is no such thing.
HostAndPort Split(absl::string_view entry) {
  absl::ConsumePrefix(&entry, kScheme);
  const size_t colon = entry.rfind(':');
  if (colon == absl::string_view::npos) return {};
  return {std::string(entry.substr(0, colon)), std::string(entry.substr(colon + 1))};
}

bool IsPort(const std::string& text) {
  int port = 0;
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, &port) && port > 0 && port < 65536;
}

bool IsHostAndPort(const HostAndPort& name) {
  const auto of_a_host = [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return IsPort(name.port) && !name.host.empty() &&
         std::all_of(name.host.begin(), name.host.end(), of_a_host);
}

// "[address]", with a zone or without.
bool IsBracketedIpv6(absl::string_view host) {
  if (!absl::ConsumePrefix(&host, "[") || !absl::ConsumeSuffix(&host, "]")) return false;
  const std::string address(host.substr(0, host.find('%')));
  in6_addr parsed;
  return inet_pton(AF_INET6, address.c_str(), &parsed) == 1;
}

bool IsIpv4(const std::string& host) {
  in_addr parsed;
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1;
}

bool HasScheme(absl::string_view entry) {
  return absl::ConsumePrefix(&entry, kScheme);
}

void ForEachList(const Membership& members, const std::function<void(const Addresses&)>& visit) {
  visit(members.encoders);
  visit(members.rerankers);
  for (const auto& [index, shards] : members.indexes) {
    for (const Addresses& shard : shards) visit(shard);
  }
}

Addresses ExpandList(const Addresses& entries, const std::map<std::string, Addresses>& known) {
  Addresses result;
  std::set<std::string> there;
  const auto add = [&](const std::string& address) {
    if (there.insert(address).second) result.push_back(address);
  };
  for (const std::string& entry : entries) {
    if (!IsName(entry)) {
      add(entry);
      continue;
    }
    const auto found = known.find(entry);
    if (found == known.end() || found->second.empty()) continue;
    if (HasScheme(entry)) {
      for (const std::string& address : found->second) add(address);
    } else {
      add(absl::StrJoin(found->second, ","));
    }
  }
  return result;
}

std::vector<std::string> Unique(const Membership& members,
                                const std::function<bool(const std::string&)>& wanted) {
  std::set<std::string> all;
  ForEachList(members, [&](const Addresses& entries) {
    for (const std::string& entry : entries) {
      if (wanted(entry)) all.insert(entry);
    }
  });
  return {all.begin(), all.end()};
}

}  // namespace

bool operator==(const Membership& a, const Membership& b) {
  return a.encoders == b.encoders && a.rerankers == b.rerankers && a.indexes == b.indexes;
}

bool IsName(absl::string_view entry) {
  if (HasScheme(entry)) return true;
  const HostAndPort parts = Split(entry);
  return IsHostAndPort(parts) && !IsIpv4(parts.host);
}

absl::Status CheckEntry(absl::string_view entry) {
  const HostAndPort parts = Split(entry);
  if (IsHostAndPort(parts)) return absl::OkStatus();
  if (!HasScheme(entry) && IsBracketedIpv6(parts.host) && IsPort(parts.port)) {
    return absl::OkStatus();
  }
  if (absl::StartsWith(entry, "unix:/")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", entry,
                   "' is no address; write host:port, [IPv6 address]:port, dns:///name:port or "
                   "unix:/path"));
}

std::vector<std::string> NamesOf(const Membership& members) {
  return Unique(members, [](const std::string& entry) { return IsName(entry); });
}

Membership Expand(const Membership& members, const std::map<std::string, Addresses>& addresses) {
  Membership result;
  result.encoders = ExpandList(members.encoders, addresses);
  result.rerankers = ExpandList(members.rerankers, addresses);
  for (const auto& [index, shards] : members.indexes) {
    for (const Addresses& shard : shards) {
      result.indexes[index].push_back(ExpandList(shard, addresses));
    }
  }
  return result;
}

Addresses AllAddresses(const Membership& members) {
  return Unique(members, [](const std::string&) { return true; });
}

std::string ChannelTarget(const std::string& address) {
  // Of several all are of one kind.
  const std::string first = address.substr(0, address.find(','));
  if (absl::StartsWith(first, "[")) return absl::StrCat("ipv6:", address);
  return IsIpv4(Split(first).host) ? absl::StrCat("ipv4:", address) : address;
}

absl::StatusOr<Addresses> LookUp(const std::string& name) {
  const HostAndPort asked = Split(name);
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(asked.host.c_str(), asked.port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("looking up '", name, "': ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, freeaddrinfo);
  std::set<std::string> v4, v6;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    char text[INET6_ADDRSTRLEN] = "";
    if (entry->ai_family == AF_INET) {
      const auto* address = reinterpret_cast<const sockaddr_in*>(entry->ai_addr);
      inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
      v4.insert(absl::StrCat(text, ":", asked.port));
    } else if (entry->ai_family == AF_INET6) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(entry->ai_addr);
      inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text));
      v6.insert(absl::StrCat("[", text, "]:", asked.port));
    }
  }
  const std::set<std::string>& chosen = v4.empty() ? v6 : v4;
  if (chosen.empty()) {
    return absl::UnavailableError(absl::StrCat("looking up '", name, "': it has no address"));
  }
  return Addresses(chosen.begin(), chosen.end());
}

}  // namespace sightline
