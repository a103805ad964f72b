#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "opdump/attach.hpp"
#include "platform/runtimes/onnxruntime/model_source.hpp"
#include "platform/runtimes/onnxruntime/optimised_tensors.hpp"
#include "platform/runtimes/onnxruntime/ort_abi.hpp"
#include "platform/runtimes/onnxruntime/tap_op.hpp"

/// Dumps what ONNX Runtime computes, in its stock library of 1.22 or later. C++17; takes ONNX Runtime's own
/// header where there is one, and needs none. Behind each operator that the config asks for, and no other, it
/// puts one of its own into the graph, a tap, which reads the operator's tensors as soon as they are there.
///
///     opdump::attach::Dump dump;  // the config that OPDUMP_CONFIG names
///     opdump::onnxruntime::Tap tap(dump, "net", *OrtGetApiBase());
///     tap.create_session(env, "net.onnx", options, &session);  // in place of OrtApi::CreateSession
///     for (...) {
///       const auto step = tap.step();
///       api->Run(session, ...);
///     }
namespace opdump::onnxruntime {

struct Options {
  /// False: of what an operator reads and the model holds, such as weights, nothing is dumped but that it is there.
  bool constants = true;
  /// A model of at most as many bytes is optimised once more without taps, when some are wanted, to learn
  /// which of them change what ONNX Runtime fuses. Of a larger one, all taps count as such.
  std::size_t most_bytes_to_compare = std::size_t{64} << 20;
};

/// The taps of one session. It outlives that, and the options that the session was created with. While a step
/// is open, one Run of the session at a time. An operator is called by its name, or, where it has none, by
/// its first output. What is Constant is no operator.
class Tap {
 public:
  Tap(attach::Dump& dump, attach::Text model_name, const OrtApiBase& runtime, std::uint32_t id = 0,
      const Options& options = Options())
      : dump_(dump),
        model_name_(model_name.c_str()),
        options_(options),
        version_(runtime.GetVersionString()),
        calls_(runtime.GetApi(has_editor() ? 22 : 1)),
        model_(dump, model_name, id),
        op_(dump, model_, nodes_) {}
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  ~Tap() {
    if (domain_ != nullptr) calls_->ReleaseCustomOpDomain(domain_);
  }

  /// Like OrtApi::CreateSession and OrtApi::CreateSessionFromArray. Where taps cannot be had, the log says
  /// why, and the session has none. Only a dump that is on gets any. `options` get the domain of the taps.
  OrtStatus* create_session(const OrtEnv* env, attach::Text path, OrtSessionOptions* options,
                            OrtSession** session) {
    return create({env, path.c_str(), nullptr, 0}, options, session);
  }
  OrtStatus* create_session_from_array(const OrtEnv* env, const void* model, std::size_t bytes,
                                       OrtSessionOptions* options, OrtSession** session) {
    return create({env, nullptr, model, bytes}, options, session);
  }

  /// Around OrtApi::Run.
  [[nodiscard]] attach::Step step(std::uint64_t number = attach::kNextStep) { return model_.step(number); }

  attach::Model& model() { return model_; }

  std::size_t taps() const { return nodes_.size(); }

 private:
  OrtStatus* create(const ModelSource& source, OrtSessionOptions* options, OrtSession** session) {
    if (dump_.is_on() && find_nodes(source)) {
      flag_fusions(source, *options);
      while (!nodes_.empty()) {
        if (create_tapped(source, options, session)) return nullptr;
        leave_out_refused();
      }
    }
    return source.create(*calls_.operator->(), options, session);
  }

  bool has_editor() const {
    const char* const minor = std::strchr(version_, '.');
    return std::atoi(version_) > 1 || (minor != nullptr && std::atoi(minor + 1) >= 22);
  }

  void say(const std::string& text) { dump_.say("model \"" + model_name_ + "\": " + text); }
  bool refuse(const std::string& why) {
    say("nothing is dumped: " + why);
    return false;
  }

  /// Adds all nodes to the model, and keeps those that some step captures. False: there are none to tap.
  bool find_nodes(const ModelSource& source) {
    if (!has_editor()) return refuse(std::string("ONNX Runtime ") + version_ + " has no taps; 1.22 has");
    if (std::exchange(is_used_, true)) return refuse("this is the second session of its tap");
    const opdump_status status = source.show_nodes(add_node, this);
    if (status != OPDUMP_OK) {
      nodes_.clear();
      return refuse(std::string(source.path != nullptr ? source.path : "bytes in memory") + ": " +
                    opdump_status_text(status));
    }
    if (has_bodies_) say("operators in the bodies of If, Loop and Scan cannot be dumped");
    std::vector<TapNode> wanted;
    for (TapNode& node : nodes_) {
      const bool takes_inputs = model_.wants_inputs(node.op), takes_outputs = model_.wants_outputs(node.op);
      bool reads = false;
      for (TapTensor& input : node.inputs)
        reads |= input.is_read =
            takes_inputs && !input.name.empty() && (options_.constants || !input.constant);
      for (TapTensor& output : node.outputs) reads |= output.is_read = takes_outputs && !output.name.empty();
      if (reads) wanted.push_back(std::move(node));
    }
    nodes_ = std::move(wanted);
    return !nodes_.empty();
  }

  static void add_node(void* self, const opdump_onnx_node* shown) {
    Tap& tap = *static_cast<Tap*>(self);
    if (std::strcmp(shown->type, "Constant") == 0) return;  // which ONNX Runtime does not run
    TapNode node{shown->name, tap.model_.add_op(shown->name, shown->type), {}, {}};
    for (std::uint32_t i = 0; i < shown->input_count; ++i)
      node.inputs.push_back({shown->inputs[i], shown->constants[i] != 0, false});
    for (std::uint32_t i = 0; i < shown->output_count; ++i) {
      node.outputs.push_back({shown->outputs[i], false, false});
      tap.computed_.insert(shown->outputs[i]);
    }
    tap.has_bodies_ |= shown->has_bodies != 0;
    tap.nodes_.push_back(std::move(node));
  }

  /// Flags the operators whose taps read what ONNX Runtime, left alone, has no tensor for.
  void flag_fusions(const ModelSource& source, const OrtSessionOptions& options) {
    OptimisedTensors left;
    const bool known = source.is_larger_than(options_.most_bytes_to_compare)
                           ? calls_.fail("the model is larger than most_bytes_to_compare")
                           : left.read(calls_, source, options);
    std::size_t flagged = 0;
    std::string first;
    for (const TapNode& node : nodes_) {
      bool breaks = !known;
      for (const auto* tensors : {&node.inputs, &node.outputs}) {
        for (const TapTensor& tensor : *tensors)
          breaks |= tensor.is_read && computed_.count(tensor.name) != 0 && !left.has(tensor.name);
      }
      if (!breaks) continue;
      model_.flag_op(node.op, OPDUMP_TAP_BREAKS_FUSION);
      if (flagged++ == 0) first = node.name;
    }
    computed_.clear();
    if (flagged == 0) return;
    say(std::to_string(flagged) + " of " + std::to_string(nodes_.size()) + " taps " +
        (known ? "change what ONNX Runtime fuses or lays out, first that of \"" + first + '"'
               : "may change what ONNX Runtime fuses: " + calls_.error()));
  }

  /// False, with an error of `calls_`: ONNX Runtime takes no such taps.
  bool create_tapped(const ModelSource& source, OrtSessionOptions* options, OrtSession** session) {
    const OrtModelEditorApi* const editor = calls_->GetModelEditorApi();
    if (editor == nullptr) return calls_.fail("this build has no model editor");
    OrtSession* made = nullptr;
    const bool good = add_domain(options) && calls_.succeeds(source.create(*editor, options, &made)) &&
                      add_taps(*editor, made) &&
                      calls_.succeeds(editor->FinalizeModelEditorSession(made, options, nullptr));
    if (good) *session = made;
    if (!good && made != nullptr) calls_->ReleaseSession(made);
    return good;
  }

  bool add_domain(OrtSessionOptions* options) {
    if (domain_ != nullptr) return true;
    static std::atomic<unsigned> number{0};
    domain_name_ = "opdump." + std::to_string(number++);  // the options may have that of another tap
    return calls_.succeeds(calls_->CreateCustomOpDomain(domain_name_.c_str(), &domain_)) &&
           calls_.succeeds(calls_->CustomOpDomain_Add(domain_, &op_)) &&
           calls_.succeeds(calls_->AddCustomOpDomain(options, domain_));
  }

  bool add_taps(const OrtModelEditorApi& editor, OrtSession* session) {
    const char* const domains[] = {domain_name_.c_str(), ""};
    int opsets[] = {1000, 0};  // what ONNX Runtime takes custom operators to have
    OrtStatus* const status = editor.SessionGetOpsetForDomain(session, "", &opsets[1]);
    const std::size_t count = status == nullptr ? 2 : 1;
    calls_->ReleaseStatus(status);
    OrtGraph* graph = nullptr;
    OrtModel* model = nullptr;
    bool good = calls_.succeeds(editor.CreateGraph(&graph));
    // The last one first: ONNX Runtime then runs each as soon as its tensors are there.
    for (std::size_t i = nodes_.size(); good && i-- != 0;) good = add_tap(editor, graph, i);
    good = good && calls_.succeeds(editor.CreateModel(domains, opsets, count, &model));
    const bool added = good && calls_.succeeds(editor.AddGraphToModel(model, graph));
    good = added && calls_.succeeds(editor.ApplyModelToModelEditorSession(session, model));
    if (!added && graph != nullptr) calls_->ReleaseGraph(graph);
    if (model != nullptr) calls_->ReleaseModel(model);
    return good;
  }

  bool add_tap(const OrtModelEditorApi& editor, OrtGraph* graph, std::size_t i) {
    std::vector<const char*> read;
    for (const auto* tensors : {&nodes_[i].inputs, &nodes_[i].outputs}) {
      for (const TapTensor& tensor : *tensors) {
        if (tensor.is_read) read.push_back(tensor.name.c_str());
      }
    }
    OrtNode* node = nullptr;
    return calls_.succeeds(editor.CreateNode(TapOp::kType, domain_name_.c_str(), TapOp::name_of(i).c_str(),
                                             read.data(), read.size(), nullptr, 0, nullptr, 0, &node)) &&
           calls_.succeeds(editor.AddNodeToGraph(graph, node));
  }

  /// Leaves out the taps that ONNX Runtime's error names: they read sequences, say. Or else all.
  void leave_out_refused() {
    std::vector<TapNode> left;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (calls_.error().find(TapOp::name_of(i)) == std::string::npos) {
        left.push_back(std::move(nodes_[i]));
      } else {
        say("operator \"" + nodes_[i].name + "\" is not dumped: " + calls_.error());
      }
    }
    if (left.size() == nodes_.size()) left.clear();
    if (left.empty()) refuse(calls_.error());
    nodes_ = std::move(left);
  }

  attach::Dump& dump_;
  const std::string model_name_;
  const Options options_;
  const char* const version_;
  Calls calls_;
  attach::Model model_;
  std::vector<TapNode> nodes_;  ///< which are tapped
  TapOp op_;
  OrtCustomOpDomain* domain_ = nullptr;
  std::string domain_name_;
  std::unordered_set<std::string> computed_;  ///< tensors
  bool is_used_ = false;
  bool has_bodies_ = false;
};

}  // namespace opdump::onnxruntime
