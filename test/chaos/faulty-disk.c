/*
 * Preloaded into a server: makes its disk slow, or makes it fail, for files whose path matches a pattern.
 *
 * The file that FAULTY_DISK names holds one page: a letter, a space, and a pattern of fnmatch. It may change at any time.
 *   - nothing    s every write and sync takes 300 ms    f syncs fail (EIO), also those that O_DSYNC implies
 *   n writes fail (ENOSPC)    r writes fail (EROFS), and so does opening to write, as after a read-only remount
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const volatile char *control;

__attribute__((constructor)) static void map_control(void) {
  const char *path = getenv("FAULTY_DISK");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page != MAP_FAILED) control = page;
  if (fd >= 0) close(fd);
}

static char mode(void) { return control ? control[0] : '-'; }

static int matches(const char *path) {
  char pattern[256];
  strncpy(pattern, (const char *)control + 2, sizeof pattern - 1);
  pattern[sizeof pattern - 1] = 0;
  return fnmatch(pattern, path, 0) == 0;
}

static int concerns(int fd) {
  char link[64], path[4096];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length < 0) return 0;
  path[length] = 0;
  return matches(path);
}

static void wait_for_disk(void) {
  struct timespec left = {0, 300000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
}

/* The error of a sync or a write of this file now; 0: none. */
static int fault_of_sync(int fd) {
  char now = mode();
  if (now == '-' || now == 'n' || now == 'r' || !concerns(fd)) return 0;
  if (now == 'f') return EIO;
  wait_for_disk();
  return 0;
}

static int fault_of_write(int fd) {
  char now = mode();
  if (now == '-' || !concerns(fd)) return 0;
  if (now == 'n') return ENOSPC;
  if (now == 'r') return EROFS;
  if (now == 'f') return fcntl(fd, F_GETFL) & (O_DSYNC | O_SYNC) ? EIO : 0;
  wait_for_disk();
  return 0;
}

#define HOOK(type, name, fault, parameters, ...)                                  \
  type name parameters {                                                          \
    static type(*real) parameters;                                                \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                \
    int error = fault(fd);                                                        \
    if (error) return errno = error, -1;                                          \
    return real(__VA_ARGS__);                                                     \
  }

HOOK(int, fsync, fault_of_sync, (int fd), fd)
HOOK(int, fdatasync, fault_of_sync, (int fd), fd)
HOOK(int, sync_file_range, fault_of_sync, (int fd, off64_t at, off64_t size, unsigned flags), fd, at, size, flags)
HOOK(ssize_t, write, fault_of_write, (int fd, const void *data, size_t size), fd, data, size)
HOOK(ssize_t, pwrite, fault_of_write, (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
HOOK(ssize_t, pwrite64, fault_of_write, (int fd, const void *data, size_t size, off64_t at), fd, data, size, at)
HOOK(ssize_t, writev, fault_of_write, (int fd, const struct iovec *data, int count), fd, data, count)
HOOK(ssize_t, pwritev, fault_of_write, (int fd, const struct iovec *data, int count, off_t at), fd, data, count, at)
HOOK(ssize_t, pwritev64, fault_of_write, (int fd, const struct iovec *data, int count, off64_t at), fd, data, count, at)

/* It returns its error. */
int posix_fallocate(int fd, off_t at, off_t size) {
  static int (*real)(int, off_t, off_t);
  if (!real) real = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
  int error = fault_of_write(fd);
  return error ? error : real(fd, at, size);
}

static int refuses_to_open(const char *path, int flags) {
  if (mode() != 'r' || !(flags & (O_WRONLY | O_RDWR | O_CREAT))) return 0;
  char full[4096];
  if (path[0] == '/' || !getcwd(full, 2048)) return matches(path);
  snprintf(full + strlen(full), 2048, "/%s", path);
  return matches(full);
}

#define MODE_OF(flags)                        \
  mode_t permissions = 0;                     \
  if (flags & (O_CREAT | __O_TMPFILE)) {      \
    va_list rest;                             \
    va_start(rest, flags);                    \
    permissions = va_arg(rest, mode_t);       \
    va_end(rest);                             \
  }                                           \
  if (refuses_to_open(path, flags)) return errno = EROFS, -1;

#define HOOK_OPEN(name)                                                           \
  int name(const char *path, int flags, ...) {                                    \
    static int (*real)(const char *, int, ...);                                   \
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);   \
    MODE_OF(flags)                                                                \
    return real(path, flags, permissions);                                        \
  }

#define HOOK_OPENAT(name)                                                             \
  int name(int folder, const char *path, int flags, ...) {                            \
    static int (*real)(int, const char *, int, ...);                                  \
    if (!real) real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #name);  \
    MODE_OF(flags)                                                                    \
    return real(folder, path, flags, permissions);                                    \
  }

HOOK_OPEN(open)
HOOK_OPEN(open64)
HOOK_OPENAT(openat)
HOOK_OPENAT(openat64)
