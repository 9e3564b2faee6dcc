// A libcuda.so.1 without a GPU: what Nessie's use of PyCUDA calls of NVIDIA's driver, and no more. Kernels are
// libraries that cudasim's compiler has made, and are executed by its scheduler, which the process has loaded before.
//
// Stricter than CUDA: all that needs a context refuses to work unless the thread has it, only memory that lives may be
// freed, work is put off until something waits for it, and taking memory or loading code waits until the default stream
// has done all. Kernels see the interrupt word, but nothing ends them from outside. Streams are non-blocking ones: what
// they are asked for is done when somebody waits for them or for all, whatever the default stream does meanwhile.
// FAKE_CUDA_DEVICES, _CAPABILITY and _MEMORY say how many GPUs there are, which (90), and with how many bytes each;
// FAKE_CUDA_BREAKS names a function that fails.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum { SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NO_DEVICE = 100, INVALID_IMAGE = 200, INVALID_CONTEXT,
       INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, LAUNCH_FAILED = 719 };
enum { NON_BLOCKING = 1 };                  // a stream's flag

struct Function {
  std::string name;
  void (*run)(const char *);
};

using Launch = bool (*)(void (*)(const char *), const char *, const char *, const unsigned *, unsigned long long, unsigned,
                        const volatile long long *, char *, size_t);

int primary;                                // its address is the primary context
int retained;                               // how often
thread_local std::vector<void *> contexts;  // the thread's
using Work = std::vector<std::function<void()>>;
const size_t QUEUE = 1024;                  // of a stream: more is waited for
std::mutex asking, working;                 // asking: also of what lives
std::map<void *, Work> waiting;             // of each stream; the default stream's is that of nullptr
std::map<uintptr_t, size_t> live;           // memory of the device
int words;                                  // page-locked memory
int modules;
std::atomic<int> broken;                    // the error that everything gives from now on
const long long never = 0;

long setting(const char *name, long otherwise) {
  const char *text = getenv(name);
  return text ? atol(text) : otherwise;
}

size_t memory() { return setting("FAKE_CUDA_MEMORY", 1L << 30); }

size_t taken() {
  size_t sum = 0;
  for (auto &part : live) sum += part.second;
  return sum;
}

int ready(const char *name) {
  const char *breaks = getenv("FAKE_CUDA_BREAKS");
  if (breaks && !strcmp(breaks, name)) broken = ILLEGAL_ADDRESS;
  if (contexts.empty() || contexts.back() != &primary) return INVALID_CONTEXT;
  return broken;
}

// What the stream was asked for until now.
void work_off(void *stream) {
  std::lock_guard<std::mutex> alone(working);
  Work work;
  {
    std::lock_guard<std::mutex> lock(asking);
    work.swap(waiting[stream]);
  }
  for (auto &part : work) part();
}

int finished(const char *name, void *stream = nullptr) {
  int status = ready(name);
  if (status) return status;
  work_off(stream);
  return broken;
}

int all_finished(const char *name) {
  int status = ready(name);
  if (status) return status;
  std::vector<void *> streams{nullptr};
  {
    std::lock_guard<std::mutex> lock(asking);
    for (auto &queue : waiting)
      if (queue.first) streams.push_back(queue.first);
  }
  for (void *stream : streams) work_off(stream);
  return broken;
}

int later(const char *name, std::function<void()> work, void *stream = nullptr) {
  int status = ready(name);
  if (status) return status;
  bool full;
  {
    std::lock_guard<std::mutex> lock(asking);
    full = waiting[stream].size() >= QUEUE;
  }
  if (full) work_off(stream);
  std::lock_guard<std::mutex> lock(asking);
  waiting[stream].push_back(work);
  return broken;
}

}  // namespace

extern "C" {

int fake_cuda_live() { return (int)(live.size() + contexts.size()) + words + modules; }

int cuInit(unsigned) { return setting("FAKE_CUDA_DEVICES", 1) ? SUCCESS : NO_DEVICE; }
int cuDriverGetVersion(int *version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = (int)setting("FAKE_CUDA_DEVICES", 1), SUCCESS; }
int cuDeviceGet(int *device, int number) { return *device = number, SUCCESS; }
int cuDeviceGetName(char *name, int room, int) { return snprintf(name, room, "fake GPU"), SUCCESS; }
int cuDeviceGetAttribute(int *value, int attribute, int) {
  long capability = setting("FAKE_CUDA_CAPABILITY", 90);
  *value = (int)(attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 0);
  return SUCCESS;
}
int cuGetErrorString(int status, const char **text) {
  *text = status == OUT_OF_MEMORY     ? "out of memory"
          : status == INVALID_IMAGE   ? "device kernel image is invalid"
          : status == INVALID_CONTEXT ? "invalid device context"
          : status == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                      : "an error of the fake driver";
  return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int) { return *context = &primary, retained++, SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int) { return retained-- ? SUCCESS : INVALID_CONTEXT; }
int cuCtxPushCurrent_v2(void *context) { return contexts.push_back(context), SUCCESS; }
int cuCtxPopCurrent_v2(void **context) {
  if (contexts.empty()) return INVALID_CONTEXT;
  *context = contexts.back();
  contexts.pop_back();
  return SUCCESS;
}
int cuCtxSynchronize() { return all_finished("cuCtxSynchronize"); }

int cuStreamCreate(void **stream, unsigned flags) {
  if (flags != NON_BLOCKING) return INVALID_VALUE;
  *stream = malloc(1);
  std::lock_guard<std::mutex> lock(asking);
  waiting[*stream];
  return ready("cuStreamCreate");
}
int cuStreamSynchronize(void *stream) {
  bool known;
  {
    std::lock_guard<std::mutex> lock(asking);
    known = waiting.count(stream);
  }
  return known ? finished("cuStreamSynchronize", stream) : INVALID_HANDLE;
}
int cuStreamDestroy_v2(void *stream) {
  if (int status = cuStreamSynchronize(stream)) return status;
  std::lock_guard<std::mutex> lock(asking);
  waiting.erase(stream);
  free(stream);
  return SUCCESS;
}

// An event is when the stream has come there.
int cuEventCreate(void **event, unsigned) {
  *event = new double(0);
  words++;
  return ready("cuEventCreate");
}
int cuEventRecord(void *event, void *stream) {
  return later("cuEventRecord", [=] {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    *(double *)event = std::chrono::duration<double, std::milli>(now).count();
  }, stream);
}
int cuEventElapsedTime_v2(float *milliseconds, void *began, void *ended) {
  *milliseconds = (float)(*(double *)ended - *(double *)began);
  return ready("cuEventElapsedTime");
}
int cuEventDestroy_v2(void *event) {
  words--;
  delete (double *)event;
  return SUCCESS;
}

int cuMemGetInfo_v2(size_t *unused, size_t *all) {
  std::lock_guard<std::mutex> lock(asking);
  *all = memory(), *unused = memory() - taken();
  return ready("cuMemGetInfo");
}
int cuMemAlloc_v2(uintptr_t *address, size_t size) {
  if (int status = finished("cuMemAlloc")) return status;
  if (size == 0) return INVALID_VALUE;
  std::lock_guard<std::mutex> lock(asking);
  if (taken() + size > memory()) return OUT_OF_MEMORY;
  void *found = nullptr;
  if (posix_memalign(&found, 256, size)) return OUT_OF_MEMORY;
  *address = (uintptr_t)memset(found, 0x3f, size);
  live[*address] = size;
  return SUCCESS;
}
int cuPointerGetAttribute(void *data, int attribute, uintptr_t address) {
  if (int status = ready("cuPointerGetAttribute")) return status;
  std::lock_guard<std::mutex> lock(asking);
  auto after = live.upper_bound(address);
  if (attribute != 9 || after == live.begin()) return INVALID_VALUE;
  auto block = std::prev(after);
  if (address >= block->first + block->second) return INVALID_VALUE;
  *(int *)data = 0;
  return SUCCESS;
}
int cuMemFree_v2(uintptr_t address) {
  if (int status = all_finished("cuMemFree")) return status;
  std::lock_guard<std::mutex> lock(asking);
  if (!live.erase(address)) return INVALID_VALUE;
  free((void *)address);
  return SUCCESS;
}
int cuMemHostAlloc(void **address, size_t size, unsigned) {
  if (int status = finished("cuMemHostAlloc")) return status;
  *address = malloc(size);
  words++;
  return SUCCESS;
}
int cuMemFreeHost(void *address) {
  if (int status = all_finished("cuMemFreeHost")) return status;
  words--;
  free(address);
  return SUCCESS;
}
int cuMemHostGetDevicePointer_v2(uintptr_t *address, void *host, unsigned) {
  *address = (uintptr_t)host;
  return ready("cuMemHostGetDevicePointer");
}

int cuMemcpyHtoD_v2(uintptr_t to, const void *from, size_t size) {
  if (int status = finished("cuMemcpyHtoD")) return status;
  memcpy((void *)to, from, size);
  return SUCCESS;
}
int cuMemcpyDtoH_v2(void *to, uintptr_t from, size_t size) {
  if (int status = finished("cuMemcpyDtoH")) return status;
  memcpy(to, (void *)from, size);
  return SUCCESS;
}
int cuMemcpyDtoD_v2(uintptr_t to, uintptr_t from, size_t size) {
  return later("cuMemcpyDtoD", [=] { memcpy((void *)to, (void *)from, size); });
}
int cuMemcpyDtoDAsync_v2(uintptr_t to, uintptr_t from, size_t size, void *stream) {
  return later("cuMemcpyDtoDAsync", [=] { memcpy((void *)to, (void *)from, size); }, stream);
}
int cuMemsetD8_v2(uintptr_t to, unsigned char value, size_t size) {
  return later("cuMemsetD8", [=] { memset((void *)to, value, size); });
}

// The image is a shared library, which ends with the table of its sections.
int cuModuleLoadDataEx(void **module, const void *image, unsigned, void *, void **) {
  if (int status = finished("cuModuleLoadData")) return status;
  if (memcmp(image, ELFMAG, SELFMAG)) return INVALID_IMAGE;
  auto *header = (const Elf64_Ehdr *)image;
  size_t size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
  int file = memfd_create("kernels", 0);
  if (file < 0 || write(file, image, size) != (ssize_t)size) return INVALID_IMAGE;
  *module = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!*module) return fprintf(stderr, "%s\n", dlerror()), INVALID_IMAGE;
  modules++;
  return SUCCESS;
}
int cuModuleUnload(void *) {
  if (int status = all_finished("cuModuleUnload")) return status;
  modules--;
  return SUCCESS;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  void *run = dlsym(module, (std::string("cudasim_run_") + name).c_str());
  if (!run) return NOT_FOUND;
  *function = new Function{name, (void (*)(const char *))run};
  return SUCCESS;
}
int cuFuncSetBlockShape(void *, int, int, int) { return ready("cuFuncSetBlockShape"); }

// Its parameters come packed: `extra` is 1, where they are, 2, where their size is, 0.
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z, unsigned,
                   void *, void **, void **extra) {
  auto *kernel = (Function *)function;
  std::string arguments((const char *)extra[1], *(size_t *)extra[3]);
  return later("cuLaunchKernel", [=] {
    static auto launch = (Launch)dlsym(RTLD_DEFAULT, "cudasim_launch");
    char message[1000] = "";
    const unsigned shape[] = {gx, gy, gz, x, y, z};
    if (!launch(kernel->run, arguments.data(), kernel->name.c_str(), shape, 1, 2, &never, message,
                sizeof message)) {
      fprintf(stderr, "%s\n", message);
      broken = LAUNCH_FAILED;
    }
  });
}

}  // extern "C"
