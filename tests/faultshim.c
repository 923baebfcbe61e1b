/* Fails the n-th write to a file, or the n-th large allocation, of the process that asks for it.

   faults.py compiles this file and loads it before all other libraries (LD_PRELOAD). It does nothing
   until a child process calls vbnmf_fault. Writes fail from the n-th on, as on a full disk. Of the
   allocations, only the n-th fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NOTHING, WRITE, ALLOCATION };

static int kind = NOTHING;
static long nth;
static long *counts; /* of writes and of large allocations, in memory that the parent process reads */
static size_t least; /* bytes of a large allocation */
static char *library; /* 256 bytes: the path of the library whose allocation failed */

void vbnmf_fault(int which, long number, size_t bytes, long *counters) {
  kind = which, nth = number, least = bytes, library = (char *)(counters + 2), counts = counters;
}

static int no_space(int fd) {
  struct stat about;
  if (!counts || fd <= 2 || fstat(fd, &about) || !S_ISREG(about.st_mode)) return 0;
  long number = __atomic_add_fetch(&counts[0], 1, __ATOMIC_RELAXED);
  if (kind != WRITE || number < nth) return 0;
  errno = ENOSPC;
  return 1;
}

static int no_memory_for(void *caller, size_t bytes) {
  if (!counts || bytes < least) return 0;
  long number = __atomic_add_fetch(&counts[1], 1, __ATOMIC_RELAXED);
  if (kind != ALLOCATION || number != nth) return 0;
  Dl_info about;
  if (dladdr(caller, &about) && about.dli_fname) strncpy(library, about.dli_fname, 255);
  errno = ENOMEM;
  return 1;
}

#define no_memory(bytes) no_memory_for(__builtin_return_address(0), bytes)

ssize_t write(int fd, const void *data, size_t n) {
  return no_space(fd) ? -1 : syscall(SYS_write, fd, data, n);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) {
  return no_space(fd) ? -1 : syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t writev(int fd, const struct iovec *parts, int n) {
  return no_space(fd) ? -1 : syscall(SYS_writev, fd, parts, n);
}

ssize_t sendfile64(int to, int from, off_t *at, size_t n) {
  return no_space(to) ? -1 : syscall(SYS_sendfile, to, from, at, n);
}

ssize_t copy_file_range(int from, off_t *a, int to, off_t *b, size_t n, unsigned flags) {
  return no_space(to) ? -1 : syscall(SYS_copy_file_range, from, a, to, b, n, flags);
}

size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
  static size_t (*real)(const void *, size_t, size_t, FILE *);
  if (!real) real = dlsym(RTLD_NEXT, "fwrite");
  return no_space(fileno(file)) ? 0 : real(data, size, n, file);
}

void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) { return no_memory(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return no_memory(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t n) { return no_memory(n) ? NULL : __libc_realloc(old, n); }
void *aligned_alloc(size_t to, size_t n) { return no_memory(n) ? NULL : __libc_memalign(to, n); }

int posix_memalign(void **found, size_t to, size_t n) {
  *found = no_memory(n) ? NULL : __libc_memalign(to, n);
  return *found ? 0 : ENOMEM;
}

void *mmap(void *where, size_t n, int access, int flags, int fd, off_t at) {
  if (flags & MAP_ANONYMOUS && no_memory(n)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, where, n, access, flags, fd, at);
}

void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
ssize_t pwrite(int, const void *, size_t, off_t) __attribute__((alias("pwrite64")));
ssize_t sendfile(int, int, off_t *, size_t) __attribute__((alias("sendfile64")));
