package dev.holdfast.client.wire;

import java.net.URI;

/** References that servers give to places of their own. */
public final class References {
    private References() {}

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
        String text = base.toString();
        int end = text.length();
        for (char mark : new char[] {'#', '?'}) {
            int at = text.indexOf(mark);
            end = at >= 0 ? Math.min(end, at) : end;
        }
        return URI.create(text.substring(0, end) + reference);
    }
}
