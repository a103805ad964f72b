#include "platform/posix/file_dump.hpp"

// What programs that link the library need not compile: the partner of the end of file_dump.hpp.

namespace opdump {
inline namespace OPDUMP_NAMESPACE {

template class RecordSplitter<HostMemory>;
template class BasicRecorder<HostMemory>;
template class BasicSession<HostMemory>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump

namespace opdump::posix {
inline namespace OPDUMP_NAMESPACE {

template class DrainThread<BasicSession<HostMemory>>;
template class DumpKit<HostMemory>;
template class FileDump<HostMemory>;

}  // namespace OPDUMP_NAMESPACE
}  // namespace opdump::posix
