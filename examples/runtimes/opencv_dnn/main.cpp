// usage: opencv_dnn MODEL.onnx PICTURES [RESULTS [unfused]]
// Tells of PICTURES pictures of a word whether it stands on its head, by PaddleOCR's classifier of directions
// with the input 1x3x48x192 and OpenCV's stock libraries. The layers that the config of OPDUMP_CONFIG asks
// for are dumped; a step is a picture. RESULTS is a file that gets both probabilities of each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <opencv2/dnn.hpp>
#include <opencv2/imgproc.hpp>
#include <string>

#include "platform/runtimes/opencv_dnn/opencv_tap.hpp"

cv::Mat picture_of(const std::string& word, bool on_its_head) {
  const int width = cv::getTextSize(word, cv::FONT_HERSHEY_DUPLEX, 1.1, 2, nullptr).width + 16;
  cv::Mat picture(48, width, CV_8UC3, cv::Scalar(255, 255, 255));
  cv::putText(picture, word, {8, 34}, cv::FONT_HERSHEY_DUPLEX, 1.1, cv::Scalar(20, 20, 20), 2, cv::LINE_AA);
  if (on_its_head) cv::flip(picture, picture, -1);
  return picture;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const std::string model = arguments[1];
  cv::setNumThreads(1);

  opdump::attach::Dump dump;                                             // opdump
  opdump::opencv::Tap tap(dump, "direction");                            // opdump
  cv::dnn::Net net = tap.read([&] { return cv::dnn::readNet(model); });  // opdump: tap.read
  if (count > 4) net.enableFusion(false);

  std::FILE* const results = count > 3 ? std::fopen(arguments[3], "wb") : nullptr;
  const char* const words[] = {"Entrance", "Platform", "Tickets", "Closed"};
  for (int i = 0; i < std::atoi(arguments[2]); ++i) {
    const cv::Mat picture = picture_of(words[i / 2 % 4], i % 2 != 0);
    net.setInput(cv::dnn::blobFromImage(picture, 1 / 127.5, {}, cv::Scalar(127.5, 127.5, 127.5)));
    const auto step = tap.step();  // opdump
    const cv::Mat result = net.forward();
    const float* const probability = result.ptr<float>();
    if (results != nullptr) std::fwrite(probability, sizeof *probability, result.total(), results);
    std::printf("%s: %d degrees, %.2f\n", words[i / 2 % 4], probability[1] > probability[0] ? 180 : 0,
                std::max(probability[0], probability[1]));
  }
  if (results != nullptr) std::fclose(results);
  return dump.stop() == OPDUMP_OK ? 0 : 1;  // opdump
}
