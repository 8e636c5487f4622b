package dev.holdfast.gateway.http;

import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.servlet.Authenticator;
import jakarta.servlet.http.HttpServletRequest;
import java.security.MessageDigest;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows callers by the tokens of a file, which it reads again when it has changed: it looks once a second, when somebody asks. A
 * change that is not one to a file of tokens changes nothing, but for one that empties it.
 */
public final class TokenFile implements Authenticator {
    private static final Logger log = LoggerFactory.getLogger(TokenFile.class);
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final String BEARER = "bearer ";

    private final OptionFile file;
    private final LongSupplier clock;
    private final AtomicLong lookedAt;
    private volatile Tokens tokens;
    private volatile byte[] seen;
    private volatile String trouble = "";

    private TokenFile(OptionFile file, LongSupplier clock, byte[] content) {
        this.file = file;
        this.clock = clock;
        this.lookedAt = new AtomicLong(clock.getAsLong());
        this.seen = Tokens.digest(content);
        this.tokens = Tokens.parse(file.toString(), file.text(content));
    }

    /**
     * Reads a file.
     *
     * @throws GatewayException if it cannot be read, or names the line that is wrong
     */
    public static TokenFile open(OptionFile file, LongSupplier clock) {
        TokenFile opened = new TokenFile(file, clock, file.content());
        OpenToOthers.complain(file.path());
        return opened;
    }

    @Override
    public Answer authenticate(HttpServletRequest request) {
        look();
        List<String> credentials = Collections.list(request.getHeaders("Authorization"));
        if (credentials.isEmpty()) {
            return new Stranger();
        }
        String first = credentials.get(0).strip();
        if (credentials.size() > 1 || !first.toLowerCase(Locale.ROOT).startsWith(BEARER)) {
            return new WrongToken();
        }
        Optional<String> principal =
                tokens.principal(first.substring(BEARER.length()).strip());
        return principal.isPresent() ? new Known(principal.get()) : new WrongToken();
    }

    /** Reads the file again if it has changed. While its content is faulty, the tokens stay as they were. */
    private void look() {
        long now = clock.getAsLong();
        long last = lookedAt.get();
        if (now - last < LOOK_NANOS || !lookedAt.compareAndSet(last, now)) {
            return;
        }
        try {
            byte[] content = file.contentAgain();
            byte[] digest = Tokens.digest(content);
            if (!MessageDigest.isEqual(seen, digest) || !trouble.isEmpty()) {
                tokens = again(content);
                seen = digest;
                trouble = "";
                OpenToOthers.complain(file.path());
                log.info("{} was read again: {} tokens", file, tokens.size());
            }
        } catch (GatewayException e) {
            String message = String.valueOf(e.getMessage());
            if (!message.equals(trouble)) {
                trouble = message;
                log.warn("{}; the tokens stay as they were", message);
            }
        }
    }

    /** An empty file lets nobody in; one that ends in the middle of a line is still being written, and changes nothing. */
    private Tokens again(byte[] content) {
        if (content.length == 0) {
            log.warn("{} is empty: nobody gets in", file);
            return Tokens.NONE;
        }
        if (content[content.length - 1] != '\n') {
            throw file.fault("the last line has no end");
        }
        return Tokens.parse(file.toString(), file.text(content));
    }
}
