/* Loaded before the C library (LD_PRELOAD): counts what a process does to files below a folder, writes it
   to a journal, and kills the process inside a chosen step. A write is cut in half before the kill. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long kill_at, steps;
static int journal = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Watch a folder from now on; at 0 nothing is killed. */
void crash_arm(const char *path, long at, const char *journal_path) {
    snprintf(folder, sizeof folder, "%s", path);
    kill_at = at;
    steps = 0;
    journal = *journal_path ? (int)syscall(SYS_openat, AT_FDCWD, journal_path,
                                           O_CREAT | O_WRONLY | O_APPEND, 0600) : -1;
}

long crash_steps(void) { return steps; }

static int below(const char *path) {
    return *folder && strncmp(path, folder, strlen(folder)) == 0;
}

static int path_of(int fd, char *path, size_t size) {
    char link[64];
    if (!*folder) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

/* Note a step; tell whether it is the one to be killed in. The caller holds the turn. */
static int step(char kind, const char *path, const char *other, long place, const void *data, long size) {
    steps++;
    if (journal >= 0) {
        char head[9000];
        int length = snprintf(head, sizeof head, "%c\t%s\t%s\t%ld\t%ld\n", kind, path, other, place, size);
        syscall(SYS_write, journal, head, length);
        if (data) syscall(SYS_write, journal, data, size);
    }
    return steps == kill_at;
}

static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); for (;;) pause(); }

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return NEXT(write)(fd, data, size);
    pthread_mutex_lock(&turn);
    if (step('W', path, "", lseek(fd, 0, SEEK_CUR), data, size)) {
        NEXT(write)(fd, data, size / 2);
        die();
    }
    ssize_t done = NEXT(write)(fd, data, size);
    pthread_mutex_unlock(&turn);
    return done;
}

static ssize_t placed(int fd, const void *data, size_t size, off64_t place) {
    char path[4096];
    if (!path_of(fd, path, sizeof path)) return NEXT(pwrite64)(fd, data, size, place);
    pthread_mutex_lock(&turn);
    if (step('W', path, "", place, data, size)) {
        NEXT(pwrite64)(fd, data, size / 2, place);
        die();
    }
    ssize_t done = NEXT(pwrite64)(fd, data, size, place);
    pthread_mutex_unlock(&turn);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t place) { return placed(fd, data, size, place); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t place) { return placed(fd, data, size, place); }

#define NOTED(kind, call)                                                     \
    char path[4096];                                                          \
    if (!path_of(fd, path, sizeof path)) return call;                         \
    pthread_mutex_lock(&turn);                                                \
    if (step(kind, path, "", SIZE, NULL, 0)) die();                           \
    int done = call;                                                          \
    pthread_mutex_unlock(&turn);                                              \
    return done;

#define SIZE 0L
int fsync(int fd) { NOTED('S', NEXT(fsync)(fd)) }
int fdatasync(int fd) { NOTED('S', NEXT(fdatasync)(fd)) }
#undef SIZE
#define SIZE ((long)size)
int ftruncate(int fd, off_t size) { NOTED('T', NEXT(ftruncate)(fd, size)) }
int ftruncate64(int fd, off64_t size) { NOTED('T', NEXT(ftruncate64)(fd, size)) }

int rename(const char *from, const char *to) {
    if (!below(from)) return NEXT(rename)(from, to);
    pthread_mutex_lock(&turn);
    if (step('R', from, to, 0, NULL, 0)) die();
    int done = NEXT(rename)(from, to);
    pthread_mutex_unlock(&turn);
    return done;
}

int unlink(const char *path) {
    if (!below(path)) return NEXT(unlink)(path);
    pthread_mutex_lock(&turn);
    if (step('U', path, "", 0, NULL, 0)) die();
    int done = NEXT(unlink)(path);
    pthread_mutex_unlock(&turn);
    return done;
}
