package dev.holdfast.servlet.guard;

import jakarta.servlet.http.HttpServletResponse;
import java.util.regex.Pattern;

/**
 * Tells browsers what a page of another origin may do; used for allowed origins only. Without these headers a browser hides an
 * answer from the page, and does not send a request that needs permission.
 *
 * @see <a href="https://fetch.spec.whatwg.org/#http-cors-protocol">Fetch, CORS protocol</a>
 */
public final class Cors {
    private static final String HEADERS = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, "
            + "Last-Event-ID, Mcp-Method, Mcp-Name";
    private static final String EXPOSED = "Mcp-Session-Id, WWW-Authenticate, Retry-After";
    /** Names of headers, as a browser lists them. */
    private static final Pattern NAMES = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,1024}");
    /** Two hours: no browser keeps a permission for much longer. */
    private static final String MAX_AGE = "7200";

    private Cors() {}

    /** Lets a page read the answer. */
    public static void letRead(HttpServletResponse response, String origin) {
        response.setHeader("Access-Control-Allow-Origin", origin);
        // beside what a filter of the application lets a page see
        response.addHeader("Access-Control-Expose-Headers", EXPOSED);
    }

    /** Lets a page send requests that need permission. */
    public static void letAsk(HttpServletResponse response, RequestHeaders request, String methods) {
        response.setHeader("Access-Control-Allow-Methods", methods);
        // whatever the page asks for, beside what every client sends: its origin is allowed
        String asked = request.header("Access-Control-Request-Headers")
                .filter(names -> NAMES.matcher(names).matches())
                .map(names -> ", " + names)
                .orElse("");
        response.setHeader("Access-Control-Allow-Headers", HEADERS + asked);
        response.setHeader("Access-Control-Max-Age", MAX_AGE);
        if (request.header("Access-Control-Request-Private-Network").isPresent()) {
            response.setHeader("Access-Control-Allow-Private-Network", "true");
        }
    }
}
