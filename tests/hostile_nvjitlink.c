/* Stands in for an nvJitLink that its input has taken over: it tries what the input says, and tells
 * in its error log what came of it, "done" or the name of an error. After "take over" it takes every
 * input, and refuses none. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char log_text[256] = "";
static int taken_over = 0;

static long attempt(const char *what, const char *path) {
  if (!strcmp(what, "read")) return open(path, O_RDONLY);
  if (!strcmp(what, "read-openat2")) {
    long how[3] = {O_RDONLY, 0, 0};
    return syscall(SYS_openat2, AT_FDCWD, path, how, sizeof how);
  }
  if (!strcmp(what, "list")) return open("/tmp", O_RDONLY | O_DIRECTORY);
  if (!strcmp(what, "write")) return open(path, O_WRONLY);
  if (!strcmp(what, "make")) return open(path, O_WRONLY | O_CREAT, 0600);
  if (!strcmp(what, "truncate")) return truncate(path, 0);
  if (!strcmp(what, "unlink")) return unlink(path);
  if (!strcmp(what, "rename")) return rename(path, "/tmp/taken");
  if (!strcmp(what, "chmod")) return chmod(path, 0777);
  if (!strcmp(what, "link")) return link(path, "/tmp/taken");
  if (!strcmp(what, "mkdir")) return mkdir("/tmp/taken", 0700);
  if (!strcmp(what, "tcp")) return socket(AF_INET, SOCK_STREAM, 0);
  if (!strcmp(what, "udp")) return socket(AF_INET, SOCK_DGRAM, 0);
  if (!strcmp(what, "unix")) return socket(AF_UNIX, SOCK_STREAM, 0);
  if (!strcmp(what, "io_uring")) return syscall(SYS_io_uring_setup, 1, path);
  if (!strcmp(what, "shell")) return execl("/bin/sh", "sh", "-c", "exit", NULL);
  if (!strcmp(what, "shell-in-memory")) {
    int copy = memfd_create("sh", 0);
    return fexecve(copy, (char *[]){"sh", NULL}, (char *[]){NULL});
  }
  if (!strcmp(what, "fork")) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    return child < 0 ? -1 : waitpid(child, NULL, 0);
  }
  if (!strcmp(what, "vfork")) {
    pid_t child = vfork();
    if (child == 0) _exit(0);
    return child < 0 ? -1 : waitpid(child, NULL, 0);
  }
  if (!strcmp(what, "clone3")) {
    long how[11] = {0};
    how[4] = SIGCHLD;
    long child = syscall(SYS_clone3, how, sizeof how);
    if (child == 0) _exit(0);
    return child < 0 ? -1 : waitpid(child, NULL, 0);
  }
  if (!strcmp(what, "leave-group")) return setsid() < 0 ? setpgid(0, 0) : 0;
  if (!strcmp(what, "kill")) return kill(getppid(), 0);
  if (!strcmp(what, "ptrace")) return ptrace(PTRACE_ATTACH, getppid(), 0, 0);
  if (!strcmp(what, "limits")) {
    struct rlimit limit;
    return prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit);
  }
  if (!strcmp(what, "shm")) return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (!strcmp(what, "signal-by-pipe")) {
    int ends[2];
    if (pipe(ends) || fcntl(ends[0], F_SETOWN, getppid()) || fcntl(ends[0], F_SETSIG, SIGCONT))
      return -1;
    return fcntl(ends[0], F_SETFL, O_ASYNC);
  }
  if (!strcmp(what, "renice")) return setpriority(PRIO_PROCESS, getppid(), 0);
  if (!strcmp(what, "pin")) {
    cpu_set_t all;
    if (sched_getaffinity(getppid(), sizeof all, &all)) return -1;
    return sched_setaffinity(getppid(), sizeof all, &all);
  }
  if (!strcmp(what, "schedule")) {
    struct sched_param none = {0};
    return sched_setscheduler(getppid(), SCHED_OTHER, &none);
  }
  if (!strcmp(what, "io-priority")) return syscall(SYS_ioprio_set, 1, getppid(), 2 << 13 | 4);
  if (!strcmp(what, "parent-memory")) {
    char file[64];
    snprintf(file, sizeof file, "/proc/%d/mem", getppid());
    return open(file, O_RDONLY);
  }
  if (!strcmp(what, "parent-memory-at-once")) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    return process_vm_readv(getppid(), &here, 1, &there, 1, 0);
  }
  if (!strcmp(what, "parent-descriptor")) return syscall(SYS_pidfd_open, getppid(), 0);
  if (!strcmp(what, "own-memory")) return open("/proc/self/mem", O_RDWR);
  if (!strcmp(what, "terminal")) return open("/dev/tty", O_RDONLY);
  if (!strcmp(what, "shell-in-memory-at")) {
    int copy = memfd_create("sh", 0);
    return syscall(SYS_execveat, copy, "", (char *[]){"sh", NULL}, (char *[]){NULL}, AT_EMPTY_PATH);
  }
  if (!strcmp(what, "abstract")) return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (!strcmp(what, "pair")) return socketpair(AF_UNIX, SOCK_DGRAM, 0, (int[2]){0});
  if (!strcmp(what, "netlink")) return socket(AF_NETLINK, SOCK_RAW, 0);
  if (!strcmp(what, "user")) return setuid(getuid());
  if (!strcmp(what, "group")) return setgid(getgid());
  if (!strcmp(what, "namespace")) return unshare(CLONE_NEWUSER);
  if (!strcmp(what, "file-attributes")) return syscall(469, AT_FDCWD, path, path, 24L, 0L);
  if (!strcmp(what, "connect")) {
    struct sockaddr_in local = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}};
    return connect(socket(AF_INET, SOCK_STREAM, 0), (void *)&local, sizeof local);
  }
  if (!strcmp(what, "watch")) return syscall(SYS_inotify_init1, 0);
  if (!strcmp(what, "io_uring-enter")) return syscall(SYS_io_uring_enter, 0, 0, 0, 0, 0);
#ifdef __x86_64__
  if (!strcmp(what, "x32")) return syscall(0x40000000 | SYS_open, path, O_RDONLY);
#endif
  return -1;
}

static void try_it(const char *text) {
  char what[256], *path;
  snprintf(what, sizeof what, "%s", text);
  path = strchr(what, ' ');
  if (path) *path++ = 0;
  long result = attempt(what, path ? path : "");
  snprintf(log_text, sizeof log_text, "%s", result >= 0 ? "done" : strerrorname_np(errno));
}

__attribute__((constructor)) static void loaded(void) {
  const char *what = ON_LOAD;
  if (*what) try_it(what);
}

int nvJitLinkVersion(unsigned *major, unsigned *minor) { return *major = 13, *minor = 5, 0; }
int nvJitLinkCreate(void **handle, unsigned count, char **options) { return *handle = "", 0; }
int nvJitLinkDestroy(void **handle) { return 0; }
int nvJitLinkAddData(void *handle, int kind, const void *data, size_t size, const char *name) {
  if (!strcmp(data, "take over")) taken_over = 1;
  if (!*ON_LOAD && !taken_over) try_it(data);
  return !taken_over;
}
int nvJitLinkComplete(void *handle) { return !taken_over; }
int nvJitLinkGetLinkedCubinSize(void *handle, size_t *size) { return *size = 0; }
int nvJitLinkGetLinkedCubin(void *handle, void *cubin) { return 0; }
int nvJitLinkGetErrorLogSize(void *handle, size_t *size) { return *size = strlen(log_text), 0; }
int nvJitLinkGetErrorLog(void *handle, char *log) { return memcpy(log, log_text, strlen(log_text)), 0; }
int nvJitLinkGetInfoLogSize(void *handle, size_t *size) { return *size = 0; }
