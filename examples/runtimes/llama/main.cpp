// usage: llama MODEL.gguf BACKENDS STEPS [LOGITS [repack]]
// Reads a prompt and continues it, each time by the likeliest token, with the stock libraries of llama.cpp.
// The tensors that the config of OPDUMP_CONFIG asks for are dumped: step 0 is the prompt, and each later one a
// token. LOGITS is a file that gets the logits of each step. Weights stay as the model has them, so that they
// can be dumped, unless they may be repacked.
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "platform/runtimes/ggml/ggml_tap.hpp"

int main(int count, char** arguments) {
  if (count < 4) return 2;
  llama_log_set(
      [](ggml_log_level level, const char* text, void*) {
        if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
      },
      nullptr);
  ggml_backend_load_all_from_path(arguments[2]);
  llama_model_params model_params = llama_model_default_params();
  model_params.use_extra_bufts = count > 5 && std::string_view(arguments[5]) == "repack";
  llama_model* const model = llama_model_load_from_file(arguments[1], model_params);
  if (model == nullptr) return 1;

  opdump::attach::Dump dump;             // opdump
  opdump::ggml::Tap tap(dump, "llama");  // opdump
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 64;
  params.n_threads = params.n_threads_batch = 1;
  tap.set(params);  // opdump
  llama_context* const context = llama_init_from_model(model, params);
  if (context == nullptr) return 1;

  std::FILE* const logits_file = count > 4 ? std::fopen(arguments[4], "wb") : nullptr;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<llama_token> text = {1, 5, 9, 2};
  std::size_t read = 0;
  for (int i = 0; i < std::atoi(arguments[3]); ++i) {
    const llama_batch batch = llama_batch_get_one(text.data() + read, static_cast<int>(text.size() - read));
    const auto step = tap.step();  // opdump
    if (llama_decode(context, batch) != 0) return 1;
    const float* const logits = llama_get_logits_ith(context, -1);
    if (logits_file != nullptr)
      std::fwrite(logits, sizeof *logits, static_cast<std::size_t>(vocabulary), logits_file);
    read = text.size();
    text.push_back(static_cast<llama_token>(std::max_element(logits, logits + vocabulary) - logits));
    std::printf("%d ", text.back());
  }
  std::printf("\n");
  if (logits_file != nullptr) std::fclose(logits_file);
  llama_free(context);
  llama_model_free(model);
  return dump.stop() == OPDUMP_OK ? 0 : 1;  // opdump
}
