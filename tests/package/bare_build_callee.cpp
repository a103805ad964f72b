#include "opdump/session.hpp"

bool is_null(const opdump::Session* session);

bool is_null(const opdump::Session* session) {
  return session == nullptr;
}
