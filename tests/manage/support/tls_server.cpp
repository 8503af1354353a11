// SPDX-License-Identifier: Apache-2.0
#include "manage/support/tls_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace cadre::testing {
namespace {

template <auto Free>
struct freed {
    void operator()(auto* object) const { Free(object); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed<X509_free>>;
using context_ptr = std::unique_ptr<SSL_CTX, freed<SSL_CTX_free>>;
using connection_ptr = std::unique_ptr<SSL, freed<SSL_free>>;

certificate_ptr self_signed(EVP_PKEY* key) {
    certificate_ptr made(X509_new());
    X509_set_version(made.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600L * 24);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600L * 24);
    X509_set_pubkey(made.get(), key);
    X509_NAME* const name = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("cadre test"), -1, -1, 0);
    X509_set_issuer_name(made.get(), name);
    X509_EXTENSION* const address =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(made.get(), address, -1);
    X509_EXTENSION_free(address);
    if (X509_sign(made.get(), key, EVP_sha256()) == 0)
        throw std::runtime_error("no certificate could be made");
    return made;
}

}  // namespace

struct tls_server::state {
    std::string answer;
    key_ptr key{EVP_EC_gen("P-256")};
    certificate_ptr certificate = self_signed(key.get());
    context_ptr context{SSL_CTX_new(TLS_server_method())};
    std::filesystem::path file;
    int listening = -1;
    int port = 0;
    std::thread serving;

    std::mutex mutex;  // guards all below
    bool ended = false;
    int open = -1;  // the connection that is being served

    void serve_all() {
        sigset_t pipe;  // OpenSSL writes without MSG_NOSIGNAL
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
        for (;;) {
            const int s = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
            {
                const std::lock_guard lock(mutex);
                open = s;
                if (ended && s >= 0) ::shutdown(s, SHUT_RDWR);
                if (ended || s < 0) break;
            }
            serve(s);
            const std::lock_guard lock(mutex);
            ::close(std::exchange(open, -1));
        }
        if (open >= 0) ::close(open);
    }

    void serve(int s) const {
        const connection_ptr connection(SSL_new(context.get()));
        SSL_set_fd(connection.get(), s);
        if (SSL_accept(connection.get()) != 1) return;
        std::string asked;
        char part[1024];
        while (asked.find("\r\n\r\n") == std::string::npos) {
            const int size = SSL_read(connection.get(), part, sizeof part);
            if (size <= 0) return;
            asked.append(part, static_cast<std::size_t>(size));
        }
        SSL_write(connection.get(), answer.data(), static_cast<int>(answer.size()));
        SSL_shutdown(connection.get());
    }
};

tls_server::tls_server(std::string body) : state_(std::make_unique<state>()) {
    auto& s = *state_;
    s.answer =
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
        "\r\n\r\n" + body;
    if (SSL_CTX_use_certificate(s.context.get(), s.certificate.get()) != 1 ||
        SSL_CTX_use_PrivateKey(s.context.get(), s.key.get()) != 1)
        throw std::runtime_error("the certificate cannot be used");
    s.listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (::bind(s.listening, plain, size) != 0 || ::listen(s.listening, 8) != 0 ||
        ::getsockname(s.listening, plain, &size) != 0)
        throw std::runtime_error("no socket on loopback");
    s.port = ntohs(address.sin_port);
    s.file = std::filesystem::temp_directory_path() /
             ("cadre-tls-" + std::to_string(::getpid()) + "-" + std::to_string(s.port) + ".pem");
    std::FILE* const out = std::fopen(s.file.c_str(), "w");
    if (out == nullptr || PEM_write_X509(out, s.certificate.get()) != 1)
        throw std::runtime_error("the certificate cannot be written");
    std::fclose(out);
    s.serving = std::thread([&s] { s.serve_all(); });
}

tls_server::~tls_server() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->ended = true;
        ::shutdown(state_->listening, SHUT_RDWR);
        if (state_->open >= 0) ::shutdown(state_->open, SHUT_RDWR);
    }
    state_->serving.join();
    ::close(state_->listening);
    std::filesystem::remove(state_->file);
}

std::string tls_server::url() const { return "https://127.0.0.1:" + std::to_string(state_->port); }

std::filesystem::path tls_server::certificate() const { return state_->file; }

}  // namespace cadre::testing
