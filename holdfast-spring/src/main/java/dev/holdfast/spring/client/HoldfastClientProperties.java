package dev.holdfast.spring.client;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;

/**
 * Every knob of the transport under the MCP clients of a Spring Boot application.
 *
 * @param enabled Whether Holdfast takes the place of Spring AI's transport for Streamable HTTP
 * @param patience For how long a message is tried to be sent, and a broken stream to be resumed, 0 and up
 * @param maxSilence How long a connection may be silent before it counts as broken; 0: three times the rhythm of the server's
 *     heartbeats, 10 s at least
 * @param maxInFlight How many requests of one client may be under way at once, 1 and up; those beyond fail
 * @param maxResponseSize How many bytes a message of a server may have, 1 and up
 * @param connectTimeout How long a connection may take to be made
 * @param resumableStreams Whether streams are resumed by the ids of their events
 * @param protocol Which protocol servers are spoken to; automatic: HTTP+SSE where a server refuses Streamable HTTP
 */
@ConfigurationProperties("holdfast.client")
public record HoldfastClientProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("2m") Duration patience,
        @DefaultValue("0s") Duration maxSilence,
        @DefaultValue("1000") int maxInFlight,
        @DefaultValue("16MB") DataSize maxResponseSize,
        @DefaultValue("10s") Duration connectTimeout,
        @DefaultValue("true") boolean resumableStreams,
        @DefaultValue("automatic") HoldfastClientTransport.Protocol protocol) {}
