package dev.holdfast.spring.client.autoconfigure;

import dev.holdfast.mcp.client.HoldfastClientTransport;
import dev.holdfast.spring.client.HoldfastClientProperties;
import java.util.function.Function;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;

/** Turns the transport's knobs one at a time, and names the property whose value was refused. */
final class ClientKnobs {
    private static final String PREFIX = "holdfast.client.";

    private ClientKnobs() {}

    static HoldfastClientTransport.Builder apply(
            HoldfastClientProperties from, HoldfastClientTransport.Builder transport) {
        turn(PREFIX + "patience", from.patience(), transport::patience);
        turn(PREFIX + "max-silence", from.maxSilence(), transport::maxSilence);
        turn(PREFIX + "max-in-flight", from.maxInFlight(), transport::maxInFlight);
        turn(
                PREFIX + "max-response-size",
                from.maxResponseSize(),
                size -> transport.maxResponseSize((int) Math.min(Integer.MAX_VALUE, size.toBytes())));
        return turn(PREFIX + "connect-timeout", from.connectTimeout(), transport::connectTimeout)
                .resumableStreams(from.resumableStreams())
                .protocol(from.protocol());
    }

    /** What comes of a value. */
    static <T, R> R turn(String property, T value, Function<T, R> knob) {
        try {
            return knob.apply(value);
        } catch (IllegalArgumentException refused) {
            throw new InvalidConfigurationPropertyValueException(property, value, refused.getMessage());
        }
    }
}
