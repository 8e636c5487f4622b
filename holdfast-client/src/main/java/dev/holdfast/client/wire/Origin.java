package dev.holdfast.client.wire;

import java.net.URI;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Where credentials may go: one server, as browsers tell servers apart.
 *
 * @param port the number, also where the URL leaves it out
 */
public record Origin(String scheme, String host, int port) {
    private static final int HTTP = 80;
    private static final int HTTPS = 443;

    /** The origin of an absolute URL; that of one without a host is no server's. */
    public static Origin of(URI uri) {
        String scheme = lower(uri.getScheme());
        int otherwise = scheme.equals("https") ? HTTPS : HTTP;
        return new Origin(scheme, lower(uri.getHost()), uri.getPort() >= 0 ? uri.getPort() : otherwise);
    }

    @Override
    public String toString() {
        return scheme + "://" + host + ":" + port;
    }

    private static String lower(@Nullable String part) {
        return part == null ? "" : part.toLowerCase(Locale.ROOT);
    }
}
