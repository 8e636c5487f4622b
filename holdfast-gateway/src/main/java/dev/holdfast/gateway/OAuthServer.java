package dev.holdfast.gateway;

import dev.holdfast.gateway.http.AccessTokens;
import dev.holdfast.gateway.http.IssuerKeys;
import dev.holdfast.gateway.http.ProtectedResource;
import dev.holdfast.servlet.Authenticator;
import java.net.URI;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/** The gateway as a resource server of OAuth: each of its endpoints is a resource, for which a token is made. */
final class OAuthServer {
    private final URI issuer;
    private final Supplier<String> root;
    private final IssuerKeys keys;

    /**
     * One that takes tokens of an issuer.
     *
     * @param root the URL of the gateway on this machine
     */
    OAuthServer(String issuer, Supplier<String> root) {
        this.issuer = URI.create(issuer);
        this.root = root;
        this.keys = new IssuerKeys(this.issuer, System::nanoTime);
    }

    IssuerKeys keys() {
        return keys;
    }

    /** Over HTTP+SSE the path that a client knows is another one, and a resource of its own. */
    Authenticator authenticator(ServeOptions server) {
        Authenticator mcp = new AccessTokens(resource(server, server.path()), keys);
        return server.httpSse()
                .<Authenticator>map(sse -> {
                    Authenticator older = new AccessTokens(resource(server, sse.path()), keys);
                    Set<String> paths = Set.of(sse.path(), sse.messagePath());
                    return request -> (paths.contains(request.getServletPath().replaceFirst("/$", "")) ? older : mcp)
                            .authenticate(request);
                })
                .orElse(mcp);
    }

    /** Whether it is said by which URL others reach a server. */
    boolean isNamed(ServeOptions server) {
        return base(server).filter(base -> !base.startsWith("/")).isPresent();
    }

    private static Optional<String> base(ServeOptions server) {
        return server.settings().find(Knobs.BASE_URL);
    }

    /**
     * What clients are told of a server; of the gateway where it has many, for its pages.
     *
     * @param endpoint where its clients begin: the path of its MCP endpoint, or that of HTTP+SSE
     */
    ProtectedResource resource(ServeOptions server, String endpoint) {
        String base = base(server).orElse("");
        String before = isNamed(server) ? base : root.get() + base;
        boolean many = server.name().isEmpty() && server.settings().isGiven(Knobs.CONFIG);
        String path = many || endpoint.equals("/") ? "" : endpoint;
        List<String> audiences = server.get(Knobs.OAUTH_AUDIENCE);
        // a client may write a URL without a path with a slash at its end
        Set<String> urls = path.isEmpty() ? Set.of(before, before + "/") : Set.of(before + path);
        return new ProtectedResource(
                issuer,
                URI.create(before + path),
                URI.create(before + ProtectedResource.WELL_KNOWN + path),
                audiences.isEmpty() ? urls : Set.copyOf(audiences),
                server.get(Knobs.OAUTH_SCOPE));
    }
}
