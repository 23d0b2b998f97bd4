/* A key log for programs that use OpenSSL as a shared library (docs/tls.md).
 *
 *     cc -O2 -shared -fPIC -o sslkeylog.so packaging/sslkeylog.c -ldl
 *     SSLKEYLOGFILE=keys.log LD_PRELOAD=./sslkeylog.so PROGRAM ...
 *
 * Each secret becomes a line of an NSS key log, appended to SSLKEYLOGFILE, which only its owner may read. It needs
 * OpenSSL 1.1.1 or later (SSL_CTX_set_keylog_callback) and no header of it. A program that sets a callback of its
 * own keeps it. OpenSSL that is linked into the program itself, as in librdkafka's wheels, is out of reach.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void (*callback)(const void *ssl, const char *line);

/* OpenSSL may be loaded by a module of the program, where RTLD_NEXT does not look. */
static int is_libssl(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libssl") == NULL) return 0;
    *(void **)found = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    return *(void **)found != NULL;
}

static void *real(const char *name) {
    void *symbol = dlsym(RTLD_NEXT, name);
    if (symbol == NULL) {
        void *library = NULL;
        dl_iterate_phdr(is_libssl, &library);
        if (library != NULL) symbol = dlsym(library, name);
    }
    return symbol;
}

/* One write for a line: those of several threads and processes do not mix. */
static void write_line(const void *ssl, const char *line) {
    (void)ssl;
    const char *path = getenv("SSLKEYLOGFILE");
    size_t length = strlen(line);
    char text[1024];
    if (path == NULL || *path == '\0' || length + 1 > sizeof text) return;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;
    memcpy(text, line, length);
    text[length] = '\n';
    ssize_t written = write(file, text, length + 1);
    (void)written; /* the program must not suffer from a full disk */
    close(file);
}

/* Every connection begins with it, whatever made the context. */
void *SSL_new(void *context) {
    void *(*make)(void *) = real("SSL_new");
    void (*set)(void *, callback) = real("SSL_CTX_set_keylog_callback");
    callback (*get)(const void *) = real("SSL_CTX_get_keylog_callback");
    if (make == NULL) return NULL;
    if (context != NULL && set != NULL && get != NULL && get(context) == NULL) set(context, write_line);
    return make(context);
}
