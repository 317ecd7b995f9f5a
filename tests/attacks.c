/* Stands in for a library or program of NVIDIA's that its input has taken over: it tries what the input says, and tells
 * what came of it, "done" or the name of an error. The input: NAME FOLDER VICTIM PORT. FOLDER is planted for this attempt
 * alone: a file, a folder, a link. VICTIM is a process, PORT one that listens. Nothing else is touched: calls that would
 * do harm are made with arguments that the kernel refuses when it looks at them, after it looked at rights.
 * Built with AS_NVJITLINK, AS_NVLINK, AS_NVRTC or AS_LIBCUDA; with ON_LOAD all is tried while the library is loaded. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char file[512], folder[512], gone[512], link_[512], base[400], own[512];
static int victim, port;
static long words[16];
static struct rlimit limit;
static struct timespec times[2];
static char byte;
static struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};

static long call(long number, long a, long b, long c, long d, long e) { return syscall(number, a, b, c, d, e, 0L); }
#define CALL(n, ...) CALL_(n, __VA_ARGS__, 0, 0, 0, 0, 0)
#define CALL_(n, a, b, c, d, e, ...) call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define P(x) ((long)(x))

static long run(const char *program, char **with) { execve(program, with, (char *[]){NULL}); return -1; }
static long child_of(long child) {
  if (child == 0) _exit(0);
  return child < 0 ? -1 : waitpid(child, NULL, __WALL);
}
static long at(int kind, const struct sockaddr_un *to, int size, int connects) {
  int fd = socket(AF_UNIX, kind, 0);
  if (fd < 0) return -1;
  if (connects) return connect(fd, (void *)to, size);
  return sendto(fd, "x", 1, 0, (void *)to, size) < 0 && errno != EPROTOTYPE ? -1 : 0;
}
static long unix_(int kind, const char *name, int abstract, int connects) {
  struct sockaddr_un to = {AF_UNIX};
  snprintf(to.sun_path + abstract, sizeof to.sun_path - 1, "%s", name);
  return at(kind, &to, offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name) + !abstract, connects);
}
static long opened(const char *path, int flags) { return open(path, flags | O_CLOEXEC, 0600); }
static int self(void) { return opened(own, O_RDONLY); }  /* what it may read: itself */
static int memory(void) { return syscall(SYS_memfd_create, "sh", 0L); }
static char *SH[] = {"sh", "-c", "echo done; exit 1", NULL};
static long fill(void) {
  int made = 0;
  for (int i = 0; i < 64; i++) {
    char name[32];
    snprintf(name, sizeof name, "more-%d", i);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    if (fd < 0) return -1;
    close(fd), made++;
  }
  return made;
}
static long grow(const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  signal(SIGXFSZ, SIG_IGN);
  return fd < 0 ? -1 : ftruncate(fd, 1L << 40);
}
static long descriptors(void) {
  for (int i = 0; i < 100000; i++) if (dup(1) < 0) return -1;
  return 0;
}
static long spawn(void) {  /* a process that leaves the group which is ended together */
  long child = fork();
  if (child == 0) { if (setsid() < 0) _exit(1); _exit(0); }
  int status = 1;
  return child < 0 || waitpid(child, &status, 0) < 0 || status ? -1 : 0;
}
static long raise_limit(int what) {
  if (getrlimit(what, &limit)) return -1;
  if (limit.rlim_cur == limit.rlim_max) return errno = EPERM, -1;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(what, &limit);
}
static long signal_by_pipe(void) {
  int ends[2];
  if (pipe(ends) || fcntl(ends[0], F_SETOWN, victim)) return -1;
  return fcntl(ends[0], F_SETSIG, SIGCONT);
}
static long ipc(int kind) {
  long id = kind == 0 ? shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)
          : kind == 1 ? CALL(SYS_semget, IPC_PRIVATE, 1, 01600) : CALL(SYS_msgget, IPC_PRIVATE, 01600);
  if (id < 0) return -1;
  CALL(kind == 0 ? SYS_shmctl : kind == 1 ? SYS_semctl : SYS_msgctl, id, kind == 1 ? 0 : IPC_RMID, IPC_RMID);
  return 0;
}
static long of(const char *format) {  /* a file of the victim in /proc */
  char path[64];
  snprintf(path, sizeof path, format, victim);
  return opened(path, O_RDONLY);
}
static long tcp(int connects) {
  struct sockaddr_in to = {AF_INET, htons(connects ? port : 0), {htonl(INADDR_LOOPBACK)}};
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  return connects ? connect(fd, (void *)&to, sizeof to) : bind(fd, (void *)&to, sizeof to);
}
static long with_self(int (*change)(int)) { int fd = self(); return fd < 0 ? -1 : change(fd); }
static int set_mode(int fd) { return fchmod(fd, 0700); }
static int set_owner(int fd) { return fchown(fd, getuid(), getgid()); }
static int set_times(int fd) { return futimens(fd, times); }
static int set_attribute(int fd) { return fsetxattr(fd, "user.taken", "1", 1, 0); }
static int set_flags(int fd) { int flags = 0x80; return ioctl(fd, _IOW('f', 2, long), &flags); }
static int set_lease(int fd) { return fcntl(fd, F_SETLEASE, F_RDLCK); }
static int set_lock(int fd) { struct flock lock = {F_RDLCK}; return fcntl(fd, F_SETLK, &lock); }
static int watch_by(int fd) { return fcntl(fd, F_NOTIFY, DN_MODIFY); }
static int in_memory(int fd) { return CALL(SYS_execveat, fd, "", SH, P((char *[]){NULL}), AT_EMPTY_PATH); }

#define WHEN(name, ...) if (!strcmp(what, name)) return (long)(__VA_ARGS__);
static long attempt(const char *what) {
  /* files */
  WHEN("read", opened(file, O_RDONLY))
  WHEN("read-openat2", (words[0] = O_RDONLY, CALL(SYS_openat2, AT_FDCWD, file, words, 24)))
  WHEN("read-by-handle", (words[0] = 128, CALL(SYS_open_by_handle_at, AT_FDCWD, words, 0)))
  WHEN("name-to-handle", (words[0] = 64, CALL(SYS_name_to_handle_at, AT_FDCWD, file, words, words + 15, 0)))
  WHEN("list", opened(folder, O_RDONLY | O_DIRECTORY))
  WHEN("list-temporary", opened("/tmp", O_RDONLY | O_DIRECTORY))
  WHEN("write", opened(file, O_WRONLY))
  WHEN("write-and-read", opened(file, O_RDWR))
  WHEN("append", opened(file, O_WRONLY | O_APPEND))
  WHEN("overwrite", opened(file, O_WRONLY | O_CREAT | O_TRUNC))
  WHEN("make", opened(gone, O_WRONLY | O_CREAT))
  WHEN("make-anew", opened(gone, O_WRONLY | O_CREAT | O_TRUNC))
  WHEN("make-creat", creat(gone, 0600))
  WHEN("make-nameless", opened(folder, O_TMPFILE | O_RDWR))
  WHEN("truncate", truncate(file, 0))
  WHEN("truncate-by-reading", opened(file, O_RDONLY | O_TRUNC))
  WHEN("truncate-by-neither", opened(file, O_ACCMODE | O_TRUNC))
  WHEN("unlink", unlink(file))
  WHEN("unlinkat", unlinkat(AT_FDCWD, file, 0))
  WHEN("rmdir", rmdir(folder))
  WHEN("rename", rename(file, gone))
  WHEN("renameat2", CALL(SYS_renameat2, AT_FDCWD, file, AT_FDCWD, gone, 0))
  WHEN("link", link(file, gone))
  WHEN("linkat", linkat(AT_FDCWD, file, AT_FDCWD, gone, 0))
  WHEN("symlink", symlink("file", gone))
  WHEN("symlinkat", symlinkat("file", AT_FDCWD, gone))
  WHEN("mkdir", mkdir(gone, 0700))
  WHEN("mkdirat", mkdirat(AT_FDCWD, gone, 0700))
  WHEN("make-pipe", mknod(gone, S_IFIFO | 0600, 0))
  WHEN("make-device", mknod(gone, S_IFCHR | 0600, 0x103))
  WHEN("make-disk", mknodat(AT_FDCWD, gone, S_IFBLK | 0600, 0x700))
  WHEN("chmod", chmod(file, 0777))
  WHEN("fchmodat", fchmodat(AT_FDCWD, file, 0777, 0))
  WHEN("fchmodat2", CALL(452, AT_FDCWD, file, 0777, AT_SYMLINK_NOFOLLOW))
  WHEN("chown", chown(file, getuid(), getgid()))
  WHEN("chown-to-other", chown(file, 65533, 65533) )
  WHEN("lchown", lchown(link_, getuid(), getgid()))
  WHEN("fchownat", fchownat(AT_FDCWD, file, getuid(), getgid(), 0))
  WHEN("utimes", utimes(file, NULL))
  WHEN("utimensat", utimensat(AT_FDCWD, file, times, 0))
  WHEN("setxattr", setxattr(file, "user.taken", "1", 1, 0))
  WHEN("lsetxattr", lsetxattr(file, "user.taken", "1", 1, 0))
  WHEN("removexattr", removexattr(file, "user.planted"))
  WHEN("setxattrat", (words[0] = P("1"), words[1] = 1, CALL(463, AT_FDCWD, file, 0, "user.taken", words)))
  WHEN("file_setattr", CALL(469, AT_FDCWD, file, words, 24, 0))
  WHEN("inotify", CALL(SYS_inotify_init1, 0))
  WHEN("fanotify", CALL(SYS_fanotify_init, 0x200, 0))
  WHEN("stat", stat(file, (struct stat *)malloc(sizeof(struct stat))))
  WHEN("access", access(file, R_OK))
  WHEN("readlink", readlink(link_, (char *)malloc(64), 64))
  WHEN("statfs", CALL(SYS_statfs, base, malloc(256)))
  WHEN("chdir", chdir(folder))
  WHEN("chroot", chroot(folder))
  /* what it may read, itself above all */
  WHEN("own-mode", with_self(set_mode))
  WHEN("own-owner", with_self(set_owner))
  WHEN("own-times", with_self(set_times))
  WHEN("own-attribute", with_self(set_attribute))
  WHEN("own-flags", with_self(set_flags))
  WHEN("own-lease", with_self(set_lease))
  WHEN("own-lock", with_self(set_lock))
  WHEN("own-truncate", opened(own, O_RDONLY | O_TRUNC))
  WHEN("own-write", opened(own, O_RDWR))
  WHEN("watch-itself", with_self(watch_by))
  WHEN("own-memory", opened("/proc/self/mem", O_RDWR))
  WHEN("own-oom-score", opened("/proc/self/oom_score_adj", O_RDWR))
  /* its own folder and what it costs */
  WHEN("many-files", fill())
  WHEN("large-file", grow("output"))
  WHEN("memory", mmap(NULL, 1L << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED ? -1 : 0)
  WHEN("descriptors", descriptors())
  WHEN("raise-memory", raise_limit(RLIMIT_AS))
  WHEN("raise-data", raise_limit(RLIMIT_DATA))
  WHEN("raise-time", raise_limit(RLIMIT_CPU))
  WHEN("raise-file-size", raise_limit(RLIMIT_FSIZE))
  WHEN("raise-files", raise_limit(RLIMIT_NOFILE))
  /* programs and processes */
  WHEN("shell", run("/bin/sh", SH))
  WHEN("shell-by-loader", run(LOADER, (char *[]){"ld", "/bin/sh", "-c", "echo done; exit 1", NULL}))
  WHEN("shell-in-memory", ({ int fd = memory(); fd < 0 ? -1 : in_memory(fd); }))
  WHEN("shell-at", ({ int fd = opened("/bin/sh", O_PATH); fd < 0 ? -1 : in_memory(fd); }))
  WHEN("start-itself", run(own, (char *[]){own, "again", NULL}))
  WHEN("fork", child_of(fork()))
  WHEN("vfork", child_of(vfork()))
  WHEN("clone", child_of(CALL(SYS_clone, SIGCHLD, 0)))
  WHEN("clone3", (words[4] = SIGCHLD, child_of(CALL(SYS_clone3, words, 88))))
  WHEN("leave-a-process", spawn())
  WHEN("setsid", (setsid() < 0 && errno == EPERM ? setpgid(0, 0) : 0))
  WHEN("outlive-parent", prctl(PR_SET_PDEATHSIG, 0))
  WHEN("terminal", opened("/dev/tty", O_RDWR))
  WHEN("type-into-terminal", ioctl(0, TIOCSTI, "x"))
  /* others */
  WHEN("kill", kill(victim, 0))
  WHEN("kill-all", kill(-1, 0))
  WHEN("kill-group", kill(0, 0))
  WHEN("tgkill", CALL(SYS_tgkill, victim, victim, 0))
  WHEN("tgkill-fault", CALL(SYS_tgkill, victim, victim, SIGSEGV))
  WHEN("tkill", CALL(SYS_tkill, victim, 0))
  WHEN("sigqueue", CALL(SYS_rt_sigqueueinfo, victim, 0, memset(words, 255, 4)))
  WHEN("tgsigqueue", CALL(SYS_rt_tgsigqueueinfo, victim, victim, 0, memset(words, 255, 4)))
  WHEN("pidfd-signal", CALL(SYS_pidfd_send_signal, CALL(SYS_pidfd_open, victim, 0), 0, 0, 0))
  WHEN("pidfd", CALL(SYS_pidfd_open, victim, 0))
  WHEN("pidfd-descriptor", CALL(SYS_pidfd_getfd, -1, 0, 0))
  WHEN("signal-by-pipe", signal_by_pipe())
  WHEN("signal-by-ioctl", (words[0] = victim, ioctl(0, 0x8901, words)))
  WHEN("ptrace", ptrace(PTRACE_ATTACH, victim, 0, 0))
  WHEN("ptrace-seize", ptrace(PTRACE_SEIZE, victim, 0, 0))
  WHEN("memory-read", process_vm_readv(victim, &here, 1, &there, 1, 0) < 0 && errno == EFAULT ? 0 : errno == 0 ? 0 : -1)
  WHEN("memory-write", process_vm_writev(victim, &here, 1, &there, 1, 0) < 0 && errno == EFAULT ? 0 : errno == 0 ? 0 : -1)
  WHEN("memory-of-victim", of("/proc/%d/mem"))
  WHEN("environment-of-victim", of("/proc/%d/environ"))
  WHEN("status-of-victim", of("/proc/%d/status"))
  WHEN("process_madvise", CALL(SYS_process_madvise, -1, 0, 0, 0, 0))
  WHEN("kcmp", CALL(SYS_kcmp, getpid(), victim, 0, 0, 0))
  WHEN("robust-list", CALL(SYS_get_robust_list, victim, words, words + 1))
  WHEN("migrate_pages", CALL(SYS_migrate_pages, victim, 0, 0, 0))
  WHEN("move_pages", CALL(SYS_move_pages, victim, 0, 0, 0, 0))
  WHEN("renice", setpriority(PRIO_PROCESS, victim, 0))
  WHEN("io-priority", CALL(SYS_ioprio_set, 1, victim, 2 << 13 | 4))
  WHEN("pin", (words[0] = -1, CALL(SYS_sched_setaffinity, victim, 8, words)))
  WHEN("schedule", CALL(SYS_sched_setscheduler, victim, 0, memset(words, 0, 8)))
  WHEN("schedule-by-parameters", CALL(SYS_sched_setparam, victim, memset(words, 0, 8)))
  WHEN("schedule-by-attributes", CALL(SYS_sched_setattr, victim, memset(words, 0, 48), 0))
  WHEN("limits-of-victim", prlimit(victim, RLIMIT_NOFILE, NULL, &limit))
  WHEN("limit-victim", getrlimit(RLIMIT_CORE, &limit) ? -1 : prlimit(victim, RLIMIT_CORE, &limit, NULL))
  /* network and queues */
  WHEN("tcp", tcp(1))
  WHEN("tcp-listen", tcp(0))
  WHEN("udp", socket(AF_INET, SOCK_DGRAM, 0))
  WHEN("tcp6", socket(AF_INET6, SOCK_STREAM, 0))
  WHEN("netlink", socket(AF_NETLINK, SOCK_RAW, 0))
  WHEN("raw", socket(AF_PACKET, SOCK_RAW, 0))
  WHEN("pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, (int[2]){0}))
  WHEN("unix", socket(AF_UNIX, SOCK_STREAM, 0))
  WHEN("unix-packets", socket(AF_UNIX, SOCK_SEQPACKET, 0))
  WHEN("unix-datagram", socket(AF_UNIX, SOCK_DGRAM, 0))
  WHEN("connect", ({ snprintf(gone, sizeof gone, "%s/socket", base); unix_(SOCK_STREAM, gone, 0, 1); }))
  WHEN("connect-abstract", ({ snprintf(gone, sizeof gone, "ltocompat-%d", victim); unix_(SOCK_STREAM, gone, 1, 1); }))
  WHEN("send-datagram", ({ snprintf(gone, sizeof gone, "%s/socket", base); unix_(SOCK_DGRAM, gone, 0, 0); }))
  WHEN("io_uring", CALL(SYS_io_uring_setup, 1, words))
  WHEN("io_uring-enter", CALL(SYS_io_uring_enter, -1, 0, 0, 0, 0))
  WHEN("io_uring-register", CALL(SYS_io_uring_register, -1, 0, 0, 0))
  WHEN("shared-memory", ipc(0))
  WHEN("semaphore", ipc(1))
  WHEN("message-queue", ipc(2))
  WHEN("mq_open", CALL(SYS_mq_open, "", 0))
  WHEN("shm_open", ({ snprintf(gone, sizeof gone, "/dev/shm/ltocompat-%d", victim); opened(gone, O_RDWR | O_CREAT); }))
  /* rights and the kernel's own affairs */
  WHEN("user", setuid(getuid()))
  WHEN("other-user", setresuid(65533, 65533, 65533))
  WHEN("group", setgid(getgid()))
  WHEN("groups", CALL(SYS_setgroups, 0, 0))
  WHEN("fsuid", (CALL(SYS_setfsuid, -1) < 0 ? -1 : 0))
  WHEN("capabilities", (words[0] = 0x20080522, words[1] = words[2] = words[3] = -1, CALL(SYS_capset, words, words + 1)))
  WHEN("namespace", unshare(CLONE_NEWUSER))
  WHEN("namespace-mount", unshare(CLONE_NEWNS))
  WHEN("namespace-thread", CALL(SYS_clone, CLONE_NEWUSER | SIGCHLD, -1))
  WHEN("setns", CALL(SYS_setns, -1, 0))
  WHEN("mount", CALL(SYS_mount, 0, gone, 0, 0, 0))
  WHEN("umount", CALL(SYS_umount2, gone, 0))
  WHEN("fsopen", CALL(SYS_fsopen, "", 0))
  WHEN("fspick", CALL(SYS_fspick, -1, "", 0))
  WHEN("open_tree", CALL(SYS_open_tree, AT_FDCWD, folder, 0))
  WHEN("move_mount", CALL(SYS_move_mount, -1, "", -1, "", 0))
  WHEN("mount_setattr", CALL(SYS_mount_setattr, -1, "", 0, words, 32))
  WHEN("pivot_root", CALL(SYS_pivot_root, gone, gone))
  WHEN("swapon", CALL(SYS_swapon, gone, 0))
  WHEN("quota", CALL(SYS_quotactl, -1, 0, 0, 0))
  WHEN("accounting", CALL(SYS_acct, folder))
  WHEN("bpf", CALL(SYS_bpf, -1, words, 8))
  WHEN("perf", CALL(SYS_perf_event_open, words, -1, -1, -1, 0))
  WHEN("userfaultfd", CALL(SYS_userfaultfd, 1))
  WHEN("keys", CALL(SYS_keyctl, 0, -3, 0))
  WHEN("add-key", CALL(SYS_add_key, "user", "ltocompat", "", 0, -1))
  WHEN("request-key", CALL(SYS_request_key, "user", "ltocompat", 0, 0))
  WHEN("module", CALL(SYS_finit_module, -1, "", 0))
  WHEN("module-delete", CALL(SYS_delete_module, "", 0))
  WHEN("kexec", CALL(SYS_kexec_load, 0, 99, 0, -1))
  WHEN("reboot", CALL(SYS_reboot, 0, 0, 0, 0))
  WHEN("kernel-log", CALL(SYS_syslog, 10, 0, 0))
  WHEN("personality", CALL(SYS_personality, 0xFFFFFFFF))
  WHEN("clock", CALL(SYS_settimeofday, 0, 0))
  WHEN("clock-adjust", CALL(SYS_adjtimex, memset(malloc(256), 0, 256)))
  WHEN("clock-set", CALL(SYS_clock_settime, -1, times))
  WHEN("host-name", CALL(SYS_sethostname, 0, -1))
  WHEN("domain-name", CALL(SYS_setdomainname, 0, -1))
  WHEN("lsm", CALL(460, 100, words, 0, 0))
  WHEN("new-call", CALL(467, 0))
  WHEN("far-call", CALL(5000, 0))
#ifdef __x86_64__
  WHEN("x32", CALL(0x40000000 | SYS_open, file, O_RDONLY))
  WHEN("32-bit", ({ long result; __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); result; }))
  WHEN("iopl", CALL(SYS_iopl, 0))
  WHEN("ioperm", CALL(SYS_ioperm, 0, 1, 0))
  WHEN("utime", CALL(SYS_utime, file, 0))
#endif
  return errno = ENOTSUP, -1;
}

static char answer[64];
static const char *try_it(const char *text) {
  char what[64] = "";
  sscanf(text, "%63s %399s %d %d %511s", what, base, &victim, &port, own);
  snprintf(file, sizeof file, "%s/%s/file", base, what), snprintf(folder, sizeof folder, "%s/%s/folder", base, what);
  snprintf(gone, sizeof gone, "%s/%s/gone", base, what), snprintf(link_, sizeof link_, "%s/%s/link", base, what);
  errno = 0;
  long result = attempt(what);
  snprintf(answer, sizeof answer, "%s", result >= 0 ? "done" : strerrorname_np(errno));
  return answer;
}

static const char *was_asked(const char *text);
#ifdef ON_LOAD
static char all[65536];
__attribute__((constructor)) static void loaded(void) {
  static const char *names[] = {ON_LOAD, NULL};
  size_t used = 0;
  for (const char **name = names; *name && used < sizeof all - 100; name++) {
    char text[2048];
    snprintf(text, sizeof text, "%s %s", *name, PLANTED);
    used += snprintf(all + used, sizeof all - used, "\n%s %s", *name, try_it(text));
  }
}
static const char *was_asked(const char *text) {
  char line[80];
  snprintf(line, sizeof line, "\n%.*s ", (int)strcspn(text, " "), text);
  const char *found = strstr(all, line);
  snprintf(answer, sizeof answer, "%.*s", found ? (int)strcspn(found + strlen(line), "\n") : 7, found ? found + strlen(line) : "ENOTSUP");
  return answer;
}
#else
static const char *was_asked(const char *text) { return try_it(text); }
#endif

#ifdef AS_NVJITLINK
static char log_text[64];
static int taken_over;
int __nvJitLinkCreate_13_5(void **handle, unsigned count, char **options) { return *handle = "", 0; }
const char banner[] = "Cuda compilation tools, release 13.5, V13.5.37";
int nvJitLinkVersion(unsigned *major, unsigned *minor) { return *major = 13, *minor = 5, 0; }
int nvJitLinkCreate(void **handle, unsigned count, char **options) { return *handle = "", 0; }
int nvJitLinkDestroy(void **handle) { return 0; }
int nvJitLinkAddData(void *handle, int kind, const void *data, size_t size, const char *name) {
  if (!strcmp(data, "take over")) taken_over = 1;
  if (!taken_over) strcpy(log_text, was_asked(data));
  return !taken_over;
}
int nvJitLinkComplete(void *handle) { return !taken_over; }
int nvJitLinkGetErrorLogSize(void *handle, size_t *size) { return *size = strlen(log_text) + 1, 0; }
int nvJitLinkGetErrorLog(void *handle, char *log) { return strcpy(log, log_text), 0; }
int nvJitLinkGetInfoLogSize(void *handle, size_t *size) { return *size = 0, 0; }
int nvJitLinkGetInfoLog(void *handle, char *log) { return 0; }
int nvJitLinkGetLinkedCubinSize(void *handle, size_t *size) { return *size = 0, 0; }
int nvJitLinkGetLinkedCubin(void *handle, void *cubin) { return 0; }
int nvJitLinkGetLinkedPtxSize(void *handle, size_t *size) { return *size = 0, 0; }
int nvJitLinkGetLinkedPtx(void *handle, void *ptx) { return 0; }
#endif

#ifdef AS_NVLINK
int main(int count, char **words) {
  char text[2048] = "";
  if (count > 1 && !strcmp(words[1], "--version")) return !puts("release 13.5, V13.5.37");
  if (count > 1 && !strcmp(words[1], "again")) return puts("done"), 1;
  fread(text, 1, sizeof text - 1, fopen("input0.ltoir", "r"));
  puts(was_asked(text));
  return 1;
}
#endif

#ifdef AS_NVRTC
static char log_text[64] = "", source[2048];
int nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 5, 0; }
int nvrtcCreateProgram(void **handle, const char *text, const char *name, int count, const void *headers, const void *names) {
  snprintf(source, sizeof source, "%s", text);
  return *handle = source, 0;
}
int nvrtcCompileProgram(void *handle, int count, const void *options) { return strcpy(log_text, was_asked(source)), 6; }
int nvrtcGetProgramLogSize(void *handle, size_t *size) { return *size = strlen(log_text) + 1, 0; }
int nvrtcGetProgramLog(void *handle, char *log) { return strcpy(log, log_text), 0; }
int nvrtcDestroyProgram(void **handle) { return 0; }
#endif
