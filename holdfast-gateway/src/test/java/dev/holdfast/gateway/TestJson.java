package dev.holdfast.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.OutboundMessage;

/** Messages as a test writes and reads them. */
public final class TestJson {
    public static final String INITIALIZE =
            "{'jsonrpc':'2.0','id':'init','method':'initialize','params':{'protocolVersion':'2025-11-25'}}"
                    .replace('\'', '"');
    public static final String INITIALIZED_RESULT =
            "{'jsonrpc':'2.0','id':'init','result':{'protocolVersion':'2025-11-25'}}".replace('\'', '"');

    private TestJson() {}

    /** JSON in which quotes may be single. */
    public static String of(String text) {
        return text.replace('\'', '"');
    }

    /** A message of the client, as the edge would hand it over. */
    public static InboundMessage inbound(String text) {
        EnvelopeReader.Parsed parsed = new EnvelopeReader().read(of(text).getBytes(UTF_8));
        return ((EnvelopeReader.Single) parsed).message().inbound(InboundMessage.NO_CONTEXT);
    }

    public static InboundMessage request(int id, String method) {
        return inbound("{'jsonrpc':'2.0','id':" + id + ",'method':'" + method + "'}");
    }

    public static String text(OutboundMessage message) {
        return new String(message.bytes(), UTF_8);
    }

    public static String result(int id) {
        return of("{'jsonrpc':'2.0','id':" + id + ",'result':{}}");
    }

    public static String notification(String method) {
        return of("{'jsonrpc':'2.0','method':'" + method + "'}");
    }
}
