/* Notes when a program's reads from TCP sockets return. Build and preload it:
 *
 *     cc -O2 -shared -fPIC -o socket_times.so socket_times.c -ldl
 *     SOCKET_TIMES=log LD_PRELOAD=./socket_times.so program
 *
 * `log.PID` has rows of 24 bytes, little-endian: time (int64, nanoseconds since 1970), descriptor, bytes, local port
 * (of a connect, else 0) and a padding (int32 each).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct row {
    int64_t ns;
    int32_t descriptor, bytes, port, padding;
};

static void note(int descriptor, ssize_t bytes, int port) {
    static int log = -1;
    int saved = errno;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (log < 0) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", getenv("SOCKET_TIMES"), getpid());
        log = open(name, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    }
    struct row row = {now.tv_sec * 1000000000LL + now.tv_nsec, descriptor, (int32_t)bytes, port, 0};
    if (write(log, &row, sizeof row) < 0) abort();
    errno = saved;
}

static int is_tcp(int descriptor) {
    int saved = errno, type = 0;
    socklen_t size = sizeof type;
    int found = getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
    errno = saved;
    return found;
}

#define READING(name, parameters, arguments)                                \
    ssize_t name parameters {                                               \
        static ssize_t(*real) parameters;                                   \
        if (!real) real = dlsym(RTLD_NEXT, #name);                          \
        ssize_t bytes = real arguments;                                     \
        if (bytes > 0 && is_tcp(descriptor)) note(descriptor, bytes, 0);    \
        return bytes;                                                       \
    }

READING(read, (int descriptor, void *to, size_t most), (descriptor, to, most))
READING(readv, (int descriptor, const struct iovec *to, int count), (descriptor, to, count))
READING(recv, (int descriptor, void *to, size_t most, int flags), (descriptor, to, most, flags))
READING(recvmsg, (int descriptor, struct msghdr *to, int flags), (descriptor, to, flags))

int connect(int descriptor, const struct sockaddr *to, socklen_t length) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (!real) real = dlsym(RTLD_NEXT, "connect");
    int result = real(descriptor, to, length), saved = errno;
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    if (getsockname(descriptor, (struct sockaddr *)&own, &size) == 0) {
        int port = own.ss_family == AF_INET    ? ntohs(((struct sockaddr_in *)&own)->sin_port)
                   : own.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&own)->sin6_port)
                                               : 0;
        if (port) note(descriptor, 0, port);
    }
    errno = saved;
    return result;
}
