/* Faults of a machine, by LD_PRELOAD: the n-th call that touches a file below a folder fails, or
   ends the process; folders are hidden; the clock jumps. Armed by ``faults.py``. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, WRITE = 2, NAME = 4, SYNC = 8, READ = 16, FOLDER = 32 };
static char below[4096], hidden[256];
static int kinds, code, lasting;
static long left = -1, seen;
static long long jump;

/* Arm: calls of these kinds below a folder; the n-th fails with this code (0: is killed at), and,
   if it lasts, all that come after it. */
void fault_arm(const char *folder, int of, long nth, int with, int lasts) {
  snprintf(below, sizeof below, "%s", folder);
  kinds = of, left = nth, code = with, lasting = lasts, seen = 0;
}
void fault_hide(const char *prefix) { snprintf(hidden, sizeof hidden, "%s", prefix); }
void fault_jump(long long seconds) { jump = seconds; }
long fault_seen(void) { return seen; }

static int is_below(const char *path) { return below[0] && !strncmp(path, below, strlen(below)); }
static int is_hidden(const char *path) {
  return path && hidden[0] && !strncmp(path, hidden, strlen(hidden));
}

static int strikes(int kind) {
  if (!(kinds & kind)) return 0;
  seen++;
  if (left < 0 || (left == 0 && !lasting)) return 0;
  if (left > 0 && --left > 0) return 0;
  if (!lasting) left = -1;
  if (!code) kill(getpid(), SIGKILL);
  errno = code;
  return 1;
}

static int strikes_path(int kind, const char *path) {
  char whole[8192];
  if (!kinds || !path) return 0;
  if (path[0] != '/') {
    if (syscall(SYS_getcwd, whole, 4096) < 0) return 0;
    strncat(whole, "/", 2), strncat(whole, path, 4000), path = whole;
  }
  return is_below(path) && strikes(kind);
}

static int strikes_fd(int kind, int fd) {
  char name[64], path[4096];
  if (!(kinds & kind)) return 0;
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  long size = syscall(SYS_readlink, name, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return is_below(path) && strikes(kind);
}

#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define HIDE(path) if (is_hidden(path)) { errno = ENOENT; return -1; }
#define MODE int mode = 0; if (flags & (O_CREAT | __O_TMPFILE)) { \
    va_list more; va_start(more, flags); mode = va_arg(more, int); va_end(more); }
#define WRITES(flags) ((flags) & (O_CREAT | O_TRUNC | __O_TMPFILE | O_WRONLY | O_RDWR))

#define AN_OPEN(name) int name(const char *path, int flags, ...) { \
    MODE HIDE(path) if (WRITES(flags) && strikes_path(OPEN, path)) return -1; \
    REAL(name); return real(path, flags, mode); }
AN_OPEN(open)
AN_OPEN(open64)
#define AN_OPENAT(name) int name(int at, const char *path, int flags, ...) { \
    MODE HIDE(path) if (WRITES(flags) && strikes_path(OPEN, path)) return -1; \
    REAL(name); return real(at, path, flags, mode); }
AN_OPENAT(openat)
AN_OPENAT(openat64)

ssize_t write(int fd, const void *data, size_t size) {
  REAL(write);
  if (kinds & WRITE && size > 1 && left == 1 && lasting && code == ENOSPC && !strikes_fd(0, fd)) {
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlink, name, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    if (is_below(path)) return left = 0, real(fd, data, size / 2); /* a part of it still fits */
  }
  return strikes_fd(WRITE, fd) ? -1 : real(fd, data, size);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  REAL(writev);
  return strikes_fd(WRITE, fd) ? -1 : real(fd, parts, count);
}
ssize_t read(int fd, void *data, size_t size) {
  REAL(read);
  return strikes_fd(READ, fd) ? -1 : real(fd, data, size);
}
ssize_t pread(int fd, void *data, size_t size, off_t at) {
  REAL(pread);
  return strikes_fd(READ, fd) ? -1 : real(fd, data, size, at);
}
ssize_t pread64(int fd, void *data, size_t size, off64_t at) {
  REAL(pread64);
  return strikes_fd(READ, fd) ? -1 : real(fd, data, size, at);
}
int fsync(int fd) {
  REAL(fsync);
  return strikes_fd(SYNC, fd) ? -1 : real(fd);
}
int rename(const char *from, const char *to) {
  REAL(rename);
  return strikes_path(NAME, to) ? -1 : real(from, to);
}
int link(const char *from, const char *to) {
  REAL(link);
  HIDE(from)
  return strikes_path(NAME, to) ? -1 : real(from, to);
}
int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  REAL(linkat);
  HIDE(from)
  return strikes_path(NAME, to) ? -1 : real(at, from, to_at, to, flags);
}
int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return strikes_path(FOLDER, path) ? -1 : real(path, mode);
}

#define A_STAT(name) int name(const char *path, struct stat *to) { \
    HIDE(path) REAL(name); return real(path, to); }
A_STAT(stat)
A_STAT(lstat)
int access(const char *path, int mode) {
  HIDE(path)
  REAL(access);
  return real(path, mode);
}
ssize_t readlink(const char *path, char *to, size_t size) {
  HIDE(path)
  REAL(readlink);
  return real(path, to, size);
}
DIR *opendir(const char *path) {
  if (is_hidden(path)) return errno = ENOENT, NULL;
  REAL(opendir);
  return real(path);
}

int clock_gettime(clockid_t clock, struct timespec *to) {
  long failed = syscall(SYS_clock_gettime, clock, to);
  if (!failed && clock == CLOCK_REALTIME && jump) to->tv_sec += (seen++ % 2 ? jump : -jump);
  return (int)failed;
}
time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return to ? *to = now.tv_sec : now.tv_sec;
}
