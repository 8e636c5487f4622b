package dev.holdfast.mcp.client;

import io.modelcontextprotocol.util.Utils;
import java.net.URI;
import java.net.URISyntaxException;

/** Where a server is. */
final class ServerAddress {
    private ServerAddress() {}

    /** Refuses what is not the URI of a server that speaks HTTP. */
    static void requireServer(String baseUri) {
        if (!speaksHttp(baseUri)) {
            throw new IllegalArgumentException("baseUri must be as in https://example.com");
        }
    }

    private static boolean speaksHttp(String baseUri) {
        try {
            URI uri = new URI(baseUri);
            boolean http = "http".equalsIgnoreCase(uri.getScheme()) || "https".equalsIgnoreCase(uri.getScheme());
            return http && uri.getHost() != null;
        } catch (URISyntaxException e) {
            return false;
        }
    }

    /** An endpoint at a server. */
    static URI of(String baseUri, String endpoint) {
        return Utils.resolveUri(URI.create(baseUri), endpoint);
    }
}
