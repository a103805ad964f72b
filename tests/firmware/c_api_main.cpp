extern "C" int run_c_api(void);

int main() {
  return run_c_api();
}
