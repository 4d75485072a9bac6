// Compiled with flags of its own: include nothing with functions that other files have too.
#include "common/kernels/nibble_scan_loops.h"

namespace sightline::kernels {

extern const NibbleScanKernel kAvx512NibbleScan = {"avx512bw", &ScanNibbles};

}  // namespace sightline::kernels
