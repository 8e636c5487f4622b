package dev.holdfast.gateway.http;

import com.nimbusds.jose.util.JSONObjectUtils;
import dev.holdfast.servlet.Challenge;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * What clients are told of an endpoint that takes access tokens.
 *
 * @param issuer whose tokens
 * @param url the endpoint as clients reach it
 * @param metadata where this is told
 * @param audiences for one of which a token must be made
 * @param scopes all of which a token must have
 * @see <a href="https://www.rfc-editor.org/rfc/rfc9728">RFC 9728, protected resource metadata</a>
 */
public record ProtectedResource(URI issuer, URI url, URI metadata, Set<String> audiences, List<String> scopes) {
    /** Where metadata is, before the path of the endpoint. */
    public static final String WELL_KNOWN = "/.well-known/oauth-protected-resource";

    Challenge challenge() {
        return new Challenge(Optional.of(metadata), scopes);
    }

    String json() {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("resource", url.toString());
        members.put("authorization_servers", List.of(issuer.toString()));
        members.put("bearer_methods_supported", List.of("header"));
        if (!scopes.isEmpty()) {
            members.put("scopes_supported", scopes);
        }
        return JSONObjectUtils.toJSONString(members);
    }

    /** Tells everybody, pages of any origin too. */
    public static final class Metadata extends HttpServlet {
        private final transient Function<String, Optional<ProtectedResource>> resources;

        /** Metadata of resources, by their paths; that without a path is empty. */
        public Metadata(Function<String, Optional<ProtectedResource>> resources) {
            this.resources = resources;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.setHeader("Access-Control-Allow-Origin", "*");
            response.setHeader("Access-Control-Allow-Headers", "*");
            String path = Optional.ofNullable(request.getPathInfo()).orElse("").replaceFirst("/$", "");
            Optional<ProtectedResource> resource = resources.apply(path);
            if (request.getMethod().equals("OPTIONS")) {
                response.setStatus(HttpServletResponse.SC_NO_CONTENT);
            } else if (!List.of("GET", "HEAD").contains(request.getMethod())) {
                response.setHeader("Allow", "GET, HEAD, OPTIONS");
                response.sendError(HttpServletResponse.SC_METHOD_NOT_ALLOWED);
            } else if (resource.isEmpty()) {
                response.sendError(HttpServletResponse.SC_NOT_FOUND);
            } else {
                byte[] body = resource.get().json().getBytes(StandardCharsets.UTF_8);
                response.setContentType("application/json;charset=utf-8");
                response.setContentLength(body.length);
                response.getOutputStream().write(body);
            }
        }
    }
}
