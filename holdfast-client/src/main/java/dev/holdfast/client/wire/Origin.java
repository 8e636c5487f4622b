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

    /**
     * The URL that a reference means at a URL. As {@link URI#resolve(String)}, but a reference that is a query only keeps the path, as RFC
     * 3986, section 5.2.2, says.
     *
     * @throws IllegalArgumentException if it is no URL
     */
    public static URI resolve(URI base, String reference) {
        if (!reference.startsWith("?")) {
            return base.resolve(reference);
        }
        return URI.create(base.toString().replaceFirst("[?#].*", "") + reference);
    }

    @Override
    public String toString() {
        return scheme + "://" + host + ":" + port;
    }

    private static String lower(@Nullable String part) {
        return part == null ? "" : part.toLowerCase(Locale.ROOT);
    }
}
