package dev.holdfast.gateway.upstream;

import java.net.URI;
import java.time.Duration;
import java.util.List;

/**
 * How the gateway deals with a server behind a URL.
 *
 * @param url the endpoint: Streamable HTTP, or the GET of HTTP+SSE
 * @param forwardedHeaders the names of headers of the client's requests that are passed on
 * @param openTimeout how long the server may take to answer {@code initialize}
 */
public record UpstreamOptions(URI url, List<String> forwardedHeaders, Duration openTimeout) {}
