package dev.holdfast.gateway.http;

/**
 * What a page of the gateway tells now.
 *
 * @param code the HTTP status
 * @param type the media type
 * @param text the page
 */
record Page(int code, String type, String text) {
    static final int OK = 200;
    /** The text format of Prometheus. */
    private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

    static Page json(int code, String json) {
        return new Page(code, "application/json;charset=utf-8", json + "\n");
    }

    static Page metrics(String metrics) {
        return new Page(OK, PROMETHEUS, metrics);
    }
}
