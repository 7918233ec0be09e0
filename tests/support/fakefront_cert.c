/* Keys and certificates of the front: an authority, a server, a client; made again each
 * time. What a client under test has to read lies in a temporary folder that is removed
 * at the end; the keys of the authority and of the server never leave the process. */
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/fakefront_int.h"

#define DAY_S 86400L

typedef struct identity {
    EVP_PKEY *key;
    X509 *cert;
} identity;

static void need(bool ok, const char *what)
{
    if (!ok) {
        fakeapi_die("certificates: %s", what);
    }
}

static void add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    need(extension != NULL && X509_add_ext(cert, extension, -1) == 1, value);
    X509_EXTENSION_free(extension);
}

/* Signed by `issuer`, or by itself. */
static identity make(const char *name, const identity *issuer, const char *hosts,
                     bool expired)
{
    static long serial = 1;
    identity made = {EVP_EC_gen("P-256"), X509_new()};
    need(made.key != NULL && made.cert != NULL, "out of memory");
    X509_set_version(made.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.cert), -10 * DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(made.cert), expired ? -DAY_S : DAY_S);
    X509_set_pubkey(made.cert, made.key);
    X509_NAME *subject = X509_get_subject_name(made.cert);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               (const unsigned char *)(const void *)name, -1, -1, 0);
    const identity *by = issuer != NULL ? issuer : &made;
    X509_set_issuer_name(made.cert, X509_get_subject_name(by->cert));
    add_extension(made.cert, NID_basic_constraints,
                  issuer == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (hosts != NULL) {
        add_extension(made.cert, NID_subject_alt_name, hosts);
    }
    need(X509_sign(made.cert, by->key, EVP_sha256()) > 0, "signing");
    return made;
}

static void drop(identity *who)
{
    EVP_PKEY_free(who->key);
    X509_free(who->cert);
}

static FILE *create(char path[FAKEFRONT_PATH_BYTES], const fakefront *front,
                    const char *name)
{
    int n = snprintf(path, FAKEFRONT_PATH_BYTES, "%s/%s", front->dir, name);
    need(n > 0 && n < FAKEFRONT_PATH_BYTES, "long path");
    FILE *file = fopen(path, "w");
    need(file != NULL, path);
    return file;
}

static void write_cert(char path[FAKEFRONT_PATH_BYTES], const fakefront *front,
                       const char *name, X509 *cert)
{
    FILE *file = create(path, front, name);
    need(PEM_write_X509(file, cert) == 1, path);
    need(fclose(file) == 0, path);
}

/* The folder holds the authority under the name that OpenSSL looks for, too. */
static void write_files(fakefront *front, const identity *ca, const identity *client)
{
    const char *base = getenv("TMPDIR");
    char name[32];
    int n = snprintf(front->dir, sizeof(front->dir), "%s/fakefront-XXXXXX",
                     base != NULL && strlen(base) < 32 ? base : "/tmp");
    need(n > 0 && mkdtemp(front->dir) != NULL, front->dir);
    write_cert(front->ca_file, front, "ca.pem", ca->cert);
    (void)snprintf(name, sizeof(name), "%08lx.0", X509_subject_name_hash(ca->cert));
    write_cert(front->ca_link, front, name, ca->cert);
    write_cert(front->client_cert, front, "client.pem", client->cert);
    FILE *file = create(front->client_key, front, "client.key");
    need(PEM_write_PrivateKey(file, client->key, NULL, NULL, 0, NULL, NULL) == 1, "key");
    need(fclose(file) == 0, front->client_key);
}

void fakefront_cert_make(fakefront *front)
{
    bool other = front->options.cert == FAKEFRONT_CERT_OTHER_HOST;
    static _Atomic int made; /* no two authorities of a process share a name */
    char name[32];
    (void)snprintf(name, sizeof(name), "front authority %d", atomic_fetch_add(&made, 1));
    identity ca = make(name, NULL, NULL, false);
    identity server =
        make("front", &ca, other ? "DNS:elsewhere.example" : "IP:127.0.0.1,DNS:localhost",
             front->options.cert == FAKEFRONT_CERT_EXPIRED);
    identity client = make("client", &ca, NULL, false);
    write_files(front, &ca, &client);
    need(SSL_CTX_use_certificate(front->tls, server.cert) == 1 &&
             SSL_CTX_use_PrivateKey(front->tls, server.key) == 1,
         "the server's");
    if (front->options.wants_client) {
        need(X509_STORE_add_cert(SSL_CTX_get_cert_store(front->tls), ca.cert) == 1,
             "store");
        SSL_CTX_set_verify(front->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                           NULL);
    }
    drop(&client);
    drop(&server);
    drop(&ca);
}

void fakefront_cert_remove(fakefront *front)
{
    (void)unlink(front->ca_file);
    (void)unlink(front->ca_link);
    (void)unlink(front->client_cert);
    (void)unlink(front->client_key);
    (void)rmdir(front->dir);
}
