package dev.holdfast.mcp.client;

import dev.holdfast.client.RemoteServer;
import java.net.http.HttpClient;

/**
 * The HTTP client of an application's making, but for its redirects: it would take credentials and the id of the session to whatever server
 * one names. If it was to follow any, those within the origin of the server are followed for it.
 *
 * @param http follows none
 * @param redirects whether some are followed
 */
record OwnClient(HttpClient http, boolean redirects) {
    /** Builds it, and leaves the builder as it was. */
    static OwnClient of(HttpClient.Builder builder) {
        HttpClient wanted = builder.build();
        HttpClient.Redirect policy = wanted.followRedirects();
        if (policy == HttpClient.Redirect.NEVER) {
            return new OwnClient(wanted, false);
        }
        HttpClient none = builder.followRedirects(HttpClient.Redirect.NEVER).build();
        builder.followRedirects(policy);
        return new OwnClient(none, true);
    }

    /** The same server, with the redirects that are followed. */
    RemoteServer at(RemoteServer server) {
        return redirects ? server.withRedirects() : server;
    }
}
