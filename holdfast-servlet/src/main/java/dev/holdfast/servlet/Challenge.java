package dev.holdfast.servlet;

import dev.holdfast.servlet.guard.Rejection;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Where a client that is refused gets a token, and for which scopes: the parameters of {@code WWW-Authenticate: Bearer}. Immutable; one is
 * enough for all requests. The URL and the scopes have up to 2,048 characters together, for containers and proxies bound the heads of
 * responses. Holdfast does not serve the metadata, the application does.
 *
 * @param resourceMetadata the URL of the protected resource metadata (RFC 9728), of http or https and in ASCII, without credentials and
 *     fragment; as clients reach it, so the public one behind a reverse proxy. Empty: clients look at the well-known places of their own
 *     accord
 * @param scopes the scopes that the request needs, each a {@code scope-token} of RFC 6749: printable ASCII without blanks, {@code "} and
 *     {@code \}; those that the client has and is to keep belong to them. Empty: clients go by the metadata
 * @see <a href="https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization#protected-resource-metadata-discovery-requirements">MCP
 *     authorization, protected resource metadata</a>
 */
public record Challenge(Optional<URI> resourceMetadata, List<String> scopes) {
    private static final Pattern SCOPE = Pattern.compile("[!#-\\[\\]-~]+");
    private static final Pattern DESCRIPTION = Pattern.compile("[ !#-\\[\\]-~]{0,512}");
    /** A {@link URI} has no quotes, blanks and control characters, but may go beyond ASCII. */
    private static final Pattern METADATA = Pattern.compile("(?i:https?)://[!-~&&[^/?#:]][!-~&&[^#]]*");

    private static final int LONGEST = 2_048;

    /** Says nothing but that a token is wanted. */
    public static final Challenge NONE = new Challenge(Optional.empty(), List.of());

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if one of them is not as described; its message names it
     */
    public Challenge {
        resourceMetadata.ifPresent(Challenge::requireMetadata);
        scopes = List.copyOf(scopes);
        scopes.forEach(scope -> require(SCOPE, "a scope", "of printable ASCII without blanks, \" and \\", scope));
        int length = url(resourceMetadata).length() + String.join(" ", scopes).length();
        if (length > LONGEST) {
            throw new IllegalArgumentException(
                    "resourceMetadata and scopes must be up to " + LONGEST + " characters together, got " + length);
        }
    }

    /**
     * A challenge with metadata.
     *
     * @throws IllegalArgumentException if a value is not as described above
     */
    public static Challenge of(URI resourceMetadata, String... scopes) {
        return new Challenge(Optional.of(resourceMetadata), List.of(scopes));
    }

    private static void requireMetadata(URI url) {
        String authority = url.getRawAuthority();
        if (authority != null && authority.indexOf('@') >= 0) {
            // its text stays out of the message, which names nobody's password
            throw new IllegalArgumentException("resourceMetadata must be a URL without credentials");
        }
        require(
                METADATA,
                "resourceMetadata",
                "an absolute URL of http or https, in ASCII and without a fragment",
                url.toString());
    }

    /** Refuses what could not stand as the description of an error. */
    static void requireDescription(String text) {
        require(DESCRIPTION, "a description", "up to 512 characters of printable ASCII without \" and \\", text);
    }

    private static void require(Pattern form, String name, String wanted, String value) {
        if (!form.matcher(value).matches()) {
            throw new IllegalArgumentException(name + " must be " + wanted + ", got " + Rejection.quote(value));
        }
    }

    /** The value of {@code WWW-Authenticate}, with an error and its description where these are not empty. */
    String header(String error, String description) {
        // some clients search for "scope=", which a URL or a description may hold too: so the scopes come first
        String parameters = Stream.of(
                        parameter("error", error),
                        parameter("scope", String.join(" ", scopes)),
                        parameter("resource_metadata", url(resourceMetadata)),
                        parameter("error_description", description))
                .flatMap(Optional::stream)
                .collect(Collectors.joining(", "));
        return parameters.isEmpty() ? "Bearer" : "Bearer " + parameters;
    }

    private static String url(Optional<URI> resourceMetadata) {
        return resourceMetadata.map(URI::toString).orElse("");
    }

    private static Optional<String> parameter(String name, String value) {
        return value.isEmpty() ? Optional.empty() : Optional.of(name + "=\"" + value + '"');
    }
}
