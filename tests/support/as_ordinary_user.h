// Permissions do not bind root: while this lives, the process acts as nobody where it was root.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>

namespace pantograph::test {

class AsOrdinaryUser {
 public:
  AsOrdinaryUser() {
    if (was_root_ && ::seteuid(kNobody) != 0) throw std::runtime_error("cannot stop being root");
  }
  ~AsOrdinaryUser() {
    if (was_root_ && ::seteuid(0) != 0) ::abort();
  }
  AsOrdinaryUser(const AsOrdinaryUser&) = delete;
  AsOrdinaryUser& operator=(const AsOrdinaryUser&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  bool was_root_ = ::geteuid() == 0;
};

}  // namespace pantograph::test
