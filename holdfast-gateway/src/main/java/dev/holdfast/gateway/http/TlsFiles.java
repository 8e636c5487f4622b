package dev.holdfast.gateway.http;

import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import org.eclipse.jetty.http2.HTTP2Cipher;
import org.eclipse.jetty.util.ssl.SslContextFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The certificate and the key of the server, of two files that are read again when they have changed. Connections that are there stay as
 * they are, those that come get what is in the files. A change that is not one to a certificate and its key changes nothing. For one
 * thread at a time, but for {@link #context}.
 */
public final class TlsFiles {
    private static final Logger log = LoggerFactory.getLogger(TlsFiles.class);
    /** How long before its end a certificate should have been renewed. */
    private static final Duration NOTICE = Duration.ofDays(3);

    private final OptionFile certificate;
    private final OptionFile key;
    private final InstantSource time;
    private final LongSupplier clock;
    private final SslContextFactory.Server context = new SslContextFactory.Server();
    /** Not a pipe, which is read once. */
    private final boolean again;

    private TlsIdentity identity;
    private List<ByteBuffer> seen;
    /** Whether clients refused the certificate when its end was told of last. */
    private Optional<Boolean> noticed = Optional.empty();

    private String trouble = "";
    /** For lines about this trouble. */
    private LogThrottle complaints;

    private TlsFiles(OptionFile certificate, OptionFile key, InstantSource time, LongSupplier clock) {
        this.certificate = certificate;
        this.key = key;
        this.time = time;
        this.clock = clock;
        this.complaints = new LogThrottle(1, clock);
        this.again = Files.isRegularFile(certificate.path()) && Files.isRegularFile(key.path());
        byte[] chain = certificate.content();
        byte[] secret = key.content();
        this.seen = digests(chain, secret);
        this.identity = TlsIdentity.of(certificate, chain, key, secret);
        context.setKeyStore(identity.store());
        context.setKeyStorePassword(TlsIdentity.PASSWORD);
        context.setIncludeProtocols("TLSv1.3", "TLSv1.2");
        context.setCipherComparator(HTTP2Cipher.COMPARATOR);
        context.setUseCipherSuitesOrder(true);
        context.setRenegotiationAllowed(false);
    }

    /**
     * Reads the files.
     *
     * @param time tells whether a certificate has expired
     * @param clock monotonic nanoseconds
     * @throws GatewayException says what is wrong with which of them
     */
    public static TlsFiles open(OptionFile certificate, OptionFile key, InstantSource time, LongSupplier clock) {
        TlsFiles opened = new TlsFiles(certificate, key, time, clock);
        OpenToOthers.complain(key.path());
        opened.tellOfEnd();
        return opened;
    }

    /** What connections are secured with. */
    SslContextFactory.Server context() {
        return context;
    }

    /** Reads the files again if they have changed. Two files are not changed at once: what is wrong is told if it is so twice. */
    public void look() {
        if (!again) {
            return;
        }
        try {
            byte[] chain = certificate.contentAgain();
            byte[] secret = key.contentAgain();
            List<ByteBuffer> digests = digests(chain, secret);
            if (!seen.equals(digests)) {
                take(TlsIdentity.of(certificate, chain, key, secret));
                seen = digests;
                OpenToOthers.complain(key.path());
            }
            trouble = "";
            tellOfEnd();
        } catch (GatewayException e) {
            String message = String.valueOf(e.getMessage());
            if (message.equals(trouble)) {
                complaints.write(more -> log.warn("{}; the certificate stays as it was{}", message, more));
            } else {
                trouble = message;
                complaints = new LogThrottle(1, clock);
            }
        }
    }

    private void take(TlsIdentity next) {
        try {
            reload(next);
        } catch (GatewayException e) {
            reload(identity);
            throw e;
        }
        identity = next;
        noticed = Optional.empty();
        log.info("{} was read again: the certificate is valid until {}", certificate, end());
    }

    private void reload(TlsIdentity next) {
        try {
            context.reload(now -> now.setKeyStore(next.store()));
        } catch (Exception e) {
            throw certificate.fault("cannot be used (" + e.getMessage() + ")");
        }
    }

    private Instant end() {
        return identity.certificate().getNotAfter().toInstant();
    }

    /** Says of a certificate that clients will refuse it soon, and that they do, once each. */
    private void tellOfEnd() {
        Instant from = identity.certificate().getNotBefore().toInstant();
        Duration life = Duration.between(from, end());
        Instant late = end().minus(life.compareTo(NOTICE) < 0 ? life.dividedBy(10) : NOTICE);
        Instant now = time.instant();
        boolean refused = now.isBefore(from) || now.isAfter(end());
        if ((refused || now.isAfter(late)) && !noticed.equals(Optional.of(refused))) {
            noticed = Optional.of(refused);
            log.warn(
                    "{}: the certificate is valid from {} to {}, and clients refuse it before and after",
                    certificate,
                    from,
                    end());
        }
    }

    private static List<ByteBuffer> digests(byte[] chain, byte[] secret) {
        return List.of(
                ByteBuffer.wrap(TokenFile.Tokens.digest(chain)), ByteBuffer.wrap(TokenFile.Tokens.digest(secret)));
    }
}
