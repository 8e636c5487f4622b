package dev.holdfast;

/** Why something a client asked for was not done: a stable code for logs and metrics. */
public enum Refusal {
    /** The server is shutting down. */
    DRAINING(3001, "the server is shutting down"),
    /** As many sessions as this server may hold are in use. */
    SESSIONS(3002, "this server holds as many sessions as it may"),
    /** As many sessions as one principal may hold are in use. */
    PRINCIPAL_SESSIONS(3003, "this principal holds as many sessions as it may"),
    /** As many calls as one session may run are running. */
    SESSION_CALLS(3004, "this session runs as many calls as it may"),
    /** As many calls as this server may run are running. */
    NODE_CALLS(3005, "this server runs as many calls as it may"),
    /** The session's subscriptions have reached its limits. */
    JOURNAL(3006, "this session has too many subscriptions"),
    /** A request id is in flight already. */
    DUPLICATE_ID(3007, "a request with this id is in flight already"),
    /** The session store does not answer. */
    STORE(3008, "the session store is not available"),
    /** The backend is not there, and as much waits for it as may. */
    BACKEND(3009, "the backend is not there, and too much waits for it"),
    /** As many backends as may be there at once, or as one principal may have of them, are there, and all of them are in use. */
    BACKENDS(3010, "every backend is in use, or all that one principal may have"),
    /** The backend of a new session could not be reached or started; the client has an error in the place of an answer. */
    BACKEND_OPENING(3011, "no backend could be opened"),
    /** A principal has its share of what all have together: calls, or memory for requests. */
    PRINCIPAL_SHARE(3012, "this principal holds its share of what the server may hold"),
    /** What tells who asks is not there, such as the keys of an authorization server. */
    AUTHENTICATION(3013, "nobody can tell now who asks"),
    /** Nobody that the server knows asks. */
    UNAUTHENTICATED(3101, "the caller is not known"),
    /** The {@code Host} header names no host of this server. */
    HOST(3102, "the Host header names no host of this server"),
    /** The {@code Origin} header names an origin that is not allowed. */
    ORIGIN(3103, "the Origin header names an origin that is not allowed"),
    /** A method, media type or revision that is not served. */
    NOT_SERVED(3104, "the request asks for what is not served"),
    /** The headers or the message are not what the specification asks for. */
    MALFORMED(3105, "the request is malformed"),
    /** A body exceeds its limit. */
    BODY_SIZE(3106, "the request body is too large"),
    /** A body did not arrive in time, or not whole. */
    BODY_TIME(3107, "the request body did not arrive"),
    /** The requests that are on their way, or run, take all the memory there is for them. */
    BODY_ROOM(3108, "the server has no room for the request now"),
    /** There is no such session for this caller. */
    UNKNOWN_SESSION(3109, "there is no such session"),
    /** There is no such event in this session. */
    UNKNOWN_EVENT(3110, "there is no such event in this session"),
    /** The caller's token lacks a scope that the request needs. */
    INSUFFICIENT_SCOPE(3111, "the token lacks a scope that the request needs");

    private final int code;
    private final String text;

    Refusal(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** A number that never changes its meaning; none of them is that of an {@link EndReason}. */
    public int code() {
        return code;
    }

    /** The reason as a phrase for a log line. */
    public String text() {
        return text;
    }
}
