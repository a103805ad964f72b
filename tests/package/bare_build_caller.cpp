#include "opdump/session.hpp"

bool is_null(const opdump::Session* session);

int main() {
  return is_null(nullptr) ? 0 : 1;
}
