// What torch's CPU build asks of a device that it lacks: guards and hooks of a CUDA and an MPS device that do nothing.
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

static c10::DeviceType present = c10::DeviceType::CPU;
extern "C" void pretend(int type) { present = static_cast<c10::DeviceType>(type); }

template <c10::DeviceType type>
struct Guard final : c10::impl::NoOpDeviceGuardImpl<type> {
  c10::Device getDevice() const override { return {type, 0}; }
  c10::Device exchangeDevice(c10::Device) const override { return {type, 0}; }
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, c10::Device(type, 0));
  }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void synchronizeEvent(void*) const override {}
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
};
using CUDAGuard = Guard<c10::DeviceType::CUDA>;
using MPSGuard = Guard<c10::DeviceType::MPS>;

// Torch looks for hooks by these very names.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return present == c10::DeviceType::CUDA; }
  bool isBuilt() const override { return hasCUDA(); }
  bool isAvailable() const override { return hasCUDA(); }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};
struct MPSHooks final : at::MPSHooksInterface {
  explicit MPSHooks(at::MPSHooksArgs = {}) {}  // torch before 2.13 gives an argument
  void init() const override {}
  bool hasMPS() const override { return present == c10::DeviceType::MPS; }
  bool isBuilt() const override { return hasMPS(); }
  bool isAvailable() const override { return hasMPS(); }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
};

namespace at {
C10_REGISTER_GUARD_IMPL(CUDA, CUDAGuard)
C10_REGISTER_GUARD_IMPL(MPS, MPSGuard)
REGISTER_CUDA_HOOKS(CUDAHooks)
REGISTER_MPS_HOOKS(MPSHooks)
}  // namespace at
