package dev.holdfast.servlet.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.servlet.guard.RequestHeaders;
import jakarta.servlet.http.HttpServletRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The page of the console: one text, without any data. It asks for those at {@code data} below its own path, and ends a session by DELETE
 * of {@code session} there.
 */
public final class ConsolePage {
    /** A header that the page sends with its requests: a page of another origin needs a permission for it, which nobody gives. */
    private static final String HEADER = "Holdfast-Console";

    /** The page. */
    public static final String HTML;

    /** What it may do: run its own script, and ask where it has come from. */
    public static final String POLICY;

    static {
        String page = resource("console.html");
        POLICY = "default-src 'none'; script-src " + hash(between(page, "<script>", "</script>")) + "; style-src "
                + hash(between(page, "<style>", "</style>"))
                + "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        // what a header alone can say is left out
        HTML = page.replace("{policy}", POLICY.substring(0, POLICY.lastIndexOf(';')));
    }

    private ConsolePage() {}

    /** Whether a request is this page's. A browser says where one comes from, which no page can change; what is no browser says nothing. */
    public static boolean asks(HttpServletRequest request) {
        String site = request.getHeader("Sec-Fetch-Site");
        String origin = request.getHeader("Origin");
        boolean own = site != null
                ? List.of("same-origin", "none").contains(site)
                : origin == null
                        || authority(origin)
                                .filter(RequestHeaders.host(request)::equals)
                                .isPresent();
        return own && request.getHeader(HEADER) != null;
    }

    private static Optional<String> authority(String origin) {
        try {
            return Optional.ofNullable(URI.create(origin).getRawAuthority());
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static String resource(String name) {
        try (InputStream in = Objects.requireNonNull(ConsolePage.class.getResourceAsStream(name), name)) {
            return new String(in.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String between(String page, String from, String to) {
        int begin = page.indexOf(from) + from.length();
        return page.substring(begin, page.indexOf(to, begin));
    }

    private static String hash(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8));
            return "'sha256-" + Base64.getEncoder().encodeToString(digest) + "'";
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
