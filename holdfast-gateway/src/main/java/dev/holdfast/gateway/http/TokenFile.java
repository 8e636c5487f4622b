package dev.holdfast.gateway.http;

import dev.holdfast.LogThrottle;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.gateway.text.OptionFile;
import dev.holdfast.servlet.Authenticator;
import jakarta.servlet.http.HttpServletRequest;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
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
    /** For lines about this trouble. */
    private volatile LogThrottle complaints;

    private TokenFile(OptionFile file, LongSupplier clock, byte[] content) {
        this.file = file;
        this.clock = clock;
        this.complaints = new LogThrottle(1, clock);
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
        Optional<String> principal = bearer(credentials).flatMap(tokens::principal);
        return principal.isPresent() ? new Known(principal.get()) : new WrongToken();
    }

    /** The token in the headers {@code Authorization} of a request; empty where that is not what they hold. */
    static Optional<String> bearer(List<String> credentials) {
        String first = credentials.get(0).strip();
        return credentials.size() > 1 || !first.toLowerCase(Locale.ROOT).startsWith(BEARER)
                ? Optional.empty()
                : Optional.of(first.substring(BEARER.length()).strip());
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
                complaints = new LogThrottle(1, clock);
            }
            complaints.write(more -> log.warn("{}; the tokens stay as they were{}", message, more));
        }
    }

    /** An empty file lets nobody in; one that ends in the middle of a line is still being written, and changes nothing. */
    private Tokens again(byte[] content) {
        if (content.length == 0) {
            log.warn("{} is empty: nobody gets in", file);
            return Tokens.NONE;
        }
        if (content[content.length - 1] != '\n') {
            throw file.fault("the last line has no end; end it with a newline");
        }
        return Tokens.parse(file.toString(), file.text(content));
    }

    /** Who may ask, and by which token. Only digests of the tokens are kept, and no message names one. */
    static final class Tokens {
        private static final Pattern BLANK = Pattern.compile("\\s+");
        private static final Pattern VISIBLE = Pattern.compile("[!-~]+");
        private static final int SHORTEST = 16;
        private static final int LONGEST_PRINCIPAL = 200;

        /** No tokens: nobody is let in. */
        static final Tokens NONE = new Tokens(Map.of());

        /** By the digests of their tokens. */
        private final Map<ByteBuffer, Entry> entries;

        private record Entry(String principal, int line) {}

        private Tokens(Map<ByteBuffer, Entry> entries) {
            this.entries = entries;
        }

        /**
         * Reads lines of a principal and a token each; empty ones and those that begin with {@code #} are skipped.
         *
         * @param file its name for messages
         * @throws GatewayException names the file and the first line that is wrong
         */
        static Tokens parse(String file, String text) {
            Map<ByteBuffer, Entry> entries = new HashMap<>();
            OptionFile.forEachLine(file, text, (line, number) -> add(line, number, entries));
            if (entries.isEmpty()) {
                throw new GatewayException(file + ": no line holds a principal and a token");
            }
            return new Tokens(entries);
        }

        private static void add(String line, int number, Map<ByteBuffer, Entry> entries) {
            String[] words = BLANK.split(line, -1);
            require(words.length == 2, "there must be a principal and a token, and nothing else");
            String token = words[1];
            require(
                    words[0].length() <= LONGEST_PRINCIPAL,
                    "the principal must not be longer than " + LONGEST_PRINCIPAL);
            require(token.length() >= SHORTEST, "the token must have at least " + SHORTEST + " characters");
            require(VISIBLE.matcher(token).matches(), "the token must be of visible ASCII characters");
            Entry other = entries.putIfAbsent(digest(token), new Entry(words[0], number));
            require(other == null, "the token is that of line " + (other == null ? number : other.line));
        }

        private static void require(boolean right, String fault) {
            if (!right) {
                throw new IllegalArgumentException(fault);
            }
        }

        /** Whose token this is. How long it takes may tell something of digests, from which nobody finds a token. */
        Optional<String> principal(String token) {
            return Optional.ofNullable(entries.get(digest(token))).map(Entry::principal);
        }

        int size() {
            return entries.size();
        }

        private static ByteBuffer digest(String token) {
            return ByteBuffer.wrap(digest(token.getBytes(StandardCharsets.UTF_8)));
        }

        /** The SHA-256 of bytes. */
        static byte[] digest(byte[] bytes) {
            try {
                return MessageDigest.getInstance("SHA-256").digest(bytes);
            } catch (NoSuchAlgorithmException e) {
                throw new IllegalStateException("every Java platform has SHA-256", e);
            }
        }
    }
}
