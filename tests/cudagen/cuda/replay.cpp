// Does again what a driver for GPUs was told to do, without Python, so that sanitizers can look on:
//
//     replay KERNELS TAPE SEED OS_THREADS PLANTED
//
// KERNELS is a library; kernels find PLANTED in planted_mistake. The tape has a line for each thing to do:
//
//     take ARRAY BYTES      free ARRAY      write ARRAY HEX
//     check ARRAY HEX                                           these bytes must be there
//     launch KERNEL BLOCKS HEX POINTERS (AT ARRAY BYTES)*       arguments, in which places in arrays go there
//
// Array 0 is the interrupt word. Exits with WRONG where other bytes are found, with REFUSED for an error of the scheduler.
#include <dlfcn.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

const int WRONG = 3, REFUSED = 4;
const itimerval PATIENCE = {{0, 0}, {30, 0}};        // seconds of the processor, then SIGPROF
const int GARBAGE = 0x3f;

extern "C" int planted_mistake;
int planted_mistake;
extern "C" bool cudasim_launch(void (*run)(const char *), const char *arguments, const char *name,
                               const unsigned *shape, unsigned long long seed, unsigned os_threads,
                               const volatile long long *interrupt, char *message, size_t room);

static std::vector<char> bytes(const std::string &hex) {         // with a dot before, as there may be none
  std::vector<char> found;
  for (size_t at = 1; at + 1 < hex.size(); at += 2) found.push_back((char)std::stoi(hex.substr(at, 2), nullptr, 16));
  return found;
}

int main(int, char **given) {
  setitimer(ITIMER_PROF, &PATIENCE, nullptr);
  void *kernels = dlopen(given[1], RTLD_NOW);
  if (!kernels) return fprintf(stderr, "%s\n", dlerror()), EXIT_FAILURE;
  std::ifstream tape(given[2]);
  const unsigned long long seed = std::stoull(given[3]);
  const unsigned os_threads = (unsigned)std::stoul(given[4]);
  planted_mistake = std::stoi(given[5]);
  std::map<int, char *> arrays;
  const long long never = 0;
  for (std::string what; tape >> what;) {
    std::string name, hex;
    int array;
    if (what == "launch") {
      unsigned shape[6], pointers, at, after;
      tape >> name;
      for (unsigned &size : shape) tape >> size;
      tape >> hex >> pointers;
      std::vector<char> arguments = bytes(hex);
      while (pointers--) {
        tape >> at >> array >> after;
        char *place = arrays.at(array) + after;
        memcpy(&arguments[at], &place, sizeof place);
      }
      auto run = (void (*)(const char *))dlsym(kernels, ("cudasim_run_" + name).c_str());
      char message[1000];
      if (!cudasim_launch(run, arguments.data(), name.c_str(), shape, seed, os_threads, &never, message,
                          sizeof message))
        return fprintf(stderr, "%s\n", message), REFUSED;
      continue;
    }
    tape >> array;
    if (what == "take") {
      size_t size;
      tape >> size;
      memset(arrays[array] = (char *)malloc(size), GARBAGE, size);
    } else if (what == "free") {
      free(arrays.at(array));
      arrays.erase(array);
    } else {
      tape >> hex;
      const std::vector<char> wanted = bytes(hex);
      if (what == "write") memcpy(arrays.at(array), wanted.data(), wanted.size());
      else if (memcmp(arrays.at(array), wanted.data(), wanted.size())) return fprintf(stderr, "wrong\n"), WRONG;
    }
  }
  return EXIT_SUCCESS;
}
