package dev.holdfast.gateway.http;

import java.util.List;
import java.util.regex.Pattern;

/** What a path must be to be served. */
public final class ServedPath {
    private static final Pattern FORM = Pattern.compile("(/[A-Za-z0-9._~-]+)++");
    private static final List<String> PAGES = List.of(WebServer.HEALTH, WebServer.STATS, WebServer.METRICS);
    private static final Pattern DOTS = Pattern.compile("/\\.{1,2}(/|$)");

    private ServedPath() {}

    /**
     * The path, if it can be one.
     *
     * @throws IllegalArgumentException names the flag and what is wrong
     */
    public static String checked(String flag, String path) {
        if (!path.startsWith("/")) {
            throw new IllegalArgumentException(
                    flag + " must begin with '/', " + (path.isEmpty() ? "and is empty" : "not be " + path));
        }
        if (!FORM.matcher(path).matches() || PAGES.contains(path)) {
            throw new IllegalArgumentException(
                    flag + " must be of letters, digits and ._~- between single '/', and not " + WebServer.HEALTH + ", "
                            + WebServer.STATS + " or " + WebServer.METRICS + ": " + path);
        }
        if (hasDots(path)) {
            throw new IllegalArgumentException(
                    flag + " must not have . or .. between its '/', which clients take away: " + path);
        }
        return path;
    }

    /** Whether a part of a path is not sent by clients as it is written. */
    public static boolean hasDots(String path) {
        return DOTS.matcher(path).find();
    }
}
